// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every call of the interface by a 32-bit program, which has no library: it is built where there is none.  Writes a line for each:
 * its name and what it returned.  As root, by a parent that is a 64-bit program and that it may checkpoint.
 *
 * A call that can work is made so that it works; ioctls-32bit knows what each has to return, and makes /tmp/ioctls32.pages.
 */
#include <cryo/client.h>
#include <cryo/ioctl.h>
#include <cryo/map.h>

#define PAGE	4096UL
#define ZEROS	0x32d8bbdbU	/* the lower half of the XXH64 of a page of them */

enum { EXIT = 1, FORK = 2, READ = 3, WRITE = 4, OPEN = 5, CLOSE = 6, WAITPID = 7, GETPID = 20, IOCTL = 54, GETPPID = 64, MMAP = 90,
       NANOSLEEP = 162, EPOLL_CTL = 255, EPOLL_CREATE = 329, PIPE = 331, INOTIFY_INIT = 332, INOTIFY_WATCH = 292, SOCKET = 359,
       SOCKETPAIR = 360, URING_SETUP = 425 };

static long call5(long number, long a, long b, long c, long d, long e)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e) : "memory");
	return ret;
}

#define call(number, a, b, c)	call5(number, (long)(a), (long)(b), (long)(c), 0, 0)

static unsigned long long at(const volatile void *p)
{
	return (unsigned long)p;
}

static void put(const char *text)
{
	unsigned long n = 0;

	while (text[n])
		n++;
	call(WRITE, 1, text, n);
}

/* "@name @result" */
static long say(const char *name, long result)
{
	char digits[16], *d = digits + sizeof(digits);
	unsigned long left = result < 0 ? 0UL - (unsigned long)result : (unsigned long)result;

	*--d = 0;
	*--d = '\n';
	do
		*--d = (char)('0' + left % 10);
	while (left /= 10);
	if (result < 0)
		*--d = '-';
	put(name);
	put(" ");
	put(d);
	return result;
}

/* All that fit into one line are tried by their name. */
#define try(fd, name, argument)	say(#name, call(IOCTL, fd, name, argument))

static void wait_for(long pid)
{
	call(WAITPID, pid, 0, 0);
}

static void pause_ms(long ms)
{
	long time[2] = { ms / 1000, ms % 1000 * 1000000 };

	call(NANOSLEEP, time, 0, 0);
}

static void *new_area(unsigned long size, long protection)
{
	unsigned long args[6] = { 0, size, (unsigned long)protection, 0x22, ~0UL, 0 };

	return (void *)call(MMAP, args, 0, 0);
}

/* ---- /dev/cryo ---- */

static long device;

static void on_device(void)
{
	static struct cryo_version version = { .size = sizeof(version) };
	static struct cryo_pid_cursor cursor = { .size = sizeof(cursor) };
	static struct cryo_ipc_id ipc = { .size = sizeof(ipc), .kind = CRYO_IPC_KIND_SEM, .id = 7 << 15 | 4321 };
	static struct cryo_consent consent = { .size = sizeof(consent), .consent = CRYO_CONSENT_ASK };

	try(device, CRYO_IOC_VERSION, &version);
	say("size-of-version", (long)version.size);
	say("abi-major", version.abi_major);
	try(device, CRYO_IOC_PID_CURSOR, &cursor);
	try(device, CRYO_IOC_IPC_ID, &ipc);
	try(device, CRYO_IOC_CONSENT, &consent);
}

/* ---- a checkpoint handle ---- */

static long checkpoint_of(const char *name, long pid, unsigned int flags)
{
	static struct cryo_checkpoint args;

	args = (struct cryo_checkpoint){ .size = sizeof(args), .target = (int)pid, .flags = flags, .timeout_ms = 60000,
					 .out_fd = (int)call(OPEN, "/dev/null", 1, 0) };
	return name ? say(name, call(IOCTL, device, CRYO_IOC_CHECKPOINT, &args)) :
		      call(IOCTL, device, CRYO_IOC_CHECKPOINT, &args);
}

static void on_request(void)
{
	static struct cryo_ckpt_status status = { .size = sizeof(status) };
	static struct cryo_ckpt_device rule = { .size = sizeof(rule), .policy = CRYO_DEVICE_CLOSE, .rdev = 0x103 };
	static struct cryo_ckpt_context context = { .size = sizeof(context), .id = { 32 } };
	long handle = checkpoint_of("CRYO_IOC_CHECKPOINT", call(GETPPID, 0, 0, 0), CRYO_CKPT_HOLD);

	try(handle, CRYO_CKPT_DEVICE, &rule);
	try(handle, CRYO_CKPT_PARENT, &context);
	try(handle, CRYO_CKPT_RUN, 0);
	try(handle, CRYO_CKPT_STATUS, &status);
	say("size-of-status", (long)status.size);
	say("state", (long)status.state);
	try(handle, CRYO_CKPT_THAW, 0);
	try(handle, CRYO_CKPT_CANCEL, 0);
	call(CLOSE, handle, 0, 0);
	handle = checkpoint_of(0, call(GETPPID, 0, 0, 0), CRYO_CKPT_TRACK);
	say("run-with-account", call(IOCTL, handle, CRYO_CKPT_RUN, 0));
	try(handle, CRYO_CKPT_COMPLETE, &context);
	call(CLOSE, handle, 0, 0);
	handle = try(device, CRYO_IOC_RESTARTED, 0);
	call(IOCTL, handle, CRYO_CKPT_STATUS, &status);
	say("state-of-restarted", (long)status.state);
}

/* ---- a client handle ---- */

static void end_well(void)
{
	call(EXIT, 42, 0, 0);
}

/* Who asks for a checkpoint of its parent, which votes against it. */
static void ask_for_parent(long pid)
{
	static struct cryo_ckpt_verdict verdict = { .size = sizeof(verdict) };
	long handle = checkpoint_of(0, pid, CRYO_CKPT_DRY_RUN);

	say("run-of-vote", call(IOCTL, handle, CRYO_CKPT_RUN, 0));
	try(handle, CRYO_CKPT_VERDICT, &verdict);
	say("code-of-verdict", (long)verdict.code);
	end_well();
}

static long start_idle(void)
{
	long pid = call(FORK, 0, 0, 0);

	if (pid)
		return pid;
	pause_ms(600000);
	end_well();
	return 0;
}

static void take_part(void)
{
	static struct cryo_client client = { .size = sizeof(client) };
	static char dest[64];
	static struct cryo_client_request request = { .size = sizeof(request), .dest_size = sizeof(dest) };
	static struct cryo_client_range range;
	static struct cryo_client_exclude exclude = { .size = sizeof(exclude), .nr_ranges = 1 };
	static struct cryo_client_forward forward = { .size = sizeof(forward) };
	static struct cryo_client_vote vote = { .size = sizeof(vote), .vote = CRYO_VOTE_TEMPORARY, .code = 77 };
	long handle = try(device, CRYO_IOC_CLIENT, &client), own = call(GETPID, 0, 0, 0), idle = start_idle(), asks;

	asks = call(FORK, 0, 0, 0);
	if (!asks)
		ask_for_parent(own);
	request.dest = at(dest);
	range.start = at(new_area(PAGE, 3));
	range.end = range.start + PAGE;
	exclude.ranges = at(&range);
	forward.target = (int)idle;
	try(handle, CRYO_CLIENT_WAIT, &request);
	say("who-asks", request.requester == asks ? 0 : -1);
	try(handle, CRYO_CLIENT_NOTE, "a 32-bit program");
	try(handle, CRYO_CLIENT_EXCLUDE, &exclude);
	try(handle, CRYO_CLIENT_FORWARD, &forward);
	try(handle, CRYO_CLIENT_VOTE, &vote);
	wait_for(asks);
	call(37, idle, 9, 0);
	wait_for(idle);
	call(CLOSE, handle, 0, 0);
}

static void after_restart(void)
{
	static char source[16], facts[16];
	static struct cryo_client client = { .size = sizeof(client), .flags = CRYO_CLIENT_RESTARTED, .requester = 1, .source_len = 3,
					     .facts_len = 4 };
	static struct cryo_client_restart info = { .size = sizeof(info), .source_size = sizeof(source), .facts_size = sizeof(facts) };
	static struct cryo_client_go go = { .size = sizeof(go) };
	long handle;

	client.source = at("ctx");
	client.facts = at("Ea=");
	info.source = at(source);
	info.facts = at(facts);
	handle = call(IOCTL, device, CRYO_IOC_CLIENT, &client);
	try(handle, CRYO_CLIENT_CLAIM, 0);
	try(handle, CRYO_CLIENT_RESTART_INFO, &info);
	say("source-and-facts", source[0] == 'c' && source[2] == 'x' && facts[0] == 'E' && info.facts_size == 4 ? 0 : -1);
	try(handle, CRYO_CLIENT_GO, &go);
}

/* ---- a restart handle ---- */

static long restart_handle(const char *name)
{
	static struct cryo_restart args = { .size = sizeof(args), .threads = 1, .processes = 1 };
	long handle = call(IOCTL, device, CRYO_IOC_RESTART, &args);

	return name ? say(name, handle) : handle;
}

static void on_objects(long handle)
{
	static unsigned int uring[30], event[3] = { 1U << 30 | 1, 0, 0 };
	static struct cryo_uring_counters counters = { .size = sizeof(counters), .sq_head = 5, .cq_tail = 5 };
	static struct cryo_epoll_disarm disarm = { .size = sizeof(disarm), .events = 1U << 30 | 1 | 0x18 };
	static struct cryo_inotify_put put_event = { .size = sizeof(put_event), .wd = 1, .mask = 0x100, .name_len = 4 };
	static struct cryo_timer_state timer = { .size = sizeof(timer), .what = CRYO_TIMER_NEXT_ID, .id = 9 };
	static int pipes[2];

	counters.fd = (int)call(URING_SETUP, 4, uring, 0);
	try(handle, CRYO_RST_URING, &counters);
	call(PIPE, pipes, 0, 0);
	disarm.epoll_fd = (int)call(EPOLL_CREATE, 0, 0, 0);
	disarm.target_fd = disarm.fd = pipes[0];
	call5(EPOLL_CTL, disarm.epoll_fd, 1, pipes[0], (long)event, 0);
	try(handle, CRYO_RST_EPOLL_DISARM, &disarm);
	put_event.fd = (int)call(INOTIFY_INIT, 0, 0, 0);
	put_event.name = at("name");
	try(handle, CRYO_RST_INOTIFY_EVENT, &put_event);
	try(handle, CRYO_RST_TIMER, &timer);
}

static void on_sockets(long handle, long descendant)
{
	static struct cryo_port port = { .size = sizeof(port), .port = 12345 };
	static struct cryo_datagram datagram = { .size = sizeof(datagram), .length = 5, .family = 2, .from_port = 7, .to_port = 8 };
	static struct cryo_peer_pid peer = { .size = sizeof(peer) };
	static int pair[2];

	port.fd = (int)call(SOCKET, 2, 1, 0);
	try(handle, CRYO_RST_PORT, &port);
	datagram.fd = (int)call(SOCKET, 2, 2, 0);
	datagram.data = at("hello");
	try(handle, CRYO_RST_DATAGRAM, &datagram);
	call5(SOCKETPAIR, 1, 1, 0, (long)pair, 0);
	peer.fd = pair[0];
	peer.pid = (int)descendant;
	try(handle, CRYO_RST_PEER_PID, &peer);
}

static void on_memory(long handle)
{
	static struct cryo_map_file file = { .size = sizeof(file) };
	static struct cryo_map_chunk chunk = { .nr_pages = 1, .checksum = ZEROS };
	static struct cryo_map_run run = { .nr_pages = 1 };
	static struct cryo_map map = { .size = sizeof(map), .nr_runs = 1, .nr_chunks = 1 };
	static struct cryo_shadow_stack stack = { .size = sizeof(stack), .length = PAGE };

	file.fd = (int)call(OPEN, "/tmp/ioctls32.pages", 0, 0);
	try(handle, CRYO_RST_MAP_FILE, &file);
	map.start = run.start = at(new_area(2 * PAGE, 0));
	map.end = map.start + 2 * PAGE;
	map.runs = at(&run);
	map.chunks = at(&chunk);
	try(handle, CRYO_RST_MAP, &map);
	stack.address = stack.data = at(new_area(PAGE, 3));
	try(handle, CRYO_RST_SHADOW_STACK, &stack);
}

/* In a process whose parent descends from the coordinator. */
static void tell_end(long handle)
{
	static struct cryo_exit_signal args = { .size = sizeof(args), .signal = 10 };
	long child = call(FORK, 0, 0, 0);

	if (!child) {
		try(handle, CRYO_RST_EXIT_SIGNAL, &args);
		end_well();
	}
	call(WAITPID, child, 0, 0x40000000);	/* __WALL: whatever signal tells of it */
}

static void on_restart(void)
{
	static struct cryo_nested_cursor cursor = { .size = sizeof(cursor) };
	static struct cryo_outer_pid outer = { .size = sizeof(outer) };
	long handle = restart_handle("CRYO_IOC_RESTART"), idle = start_idle(), child;

	try(handle, CRYO_RST_PID_CURSOR, &cursor);
	outer.pid = (int)idle;
	try(handle, CRYO_RST_OUTER_PID, &outer);
	say("outer-pid", outer.outer == idle ? 0 : -1);
	on_objects(handle);
	on_sockets(handle, idle);
	child = call(FORK, 0, 0, 0);
	if (!child) {
		tell_end(handle);
		end_well();
	}
	wait_for(child);
	call(37, idle, 9, 0);
	wait_for(idle);
	on_memory(handle);
	call(CLOSE, handle, 0, 0);
}

/* The general registers of a 32-bit thread, as NT_PRSTATUS has them. */
struct registers {
	int ebx, ecx, edx, esi, edi, ebp, eax, ds, es, fs, gs, orig_eax, eip, cs, eflags, esp, ss;
};

static char stack[8192] __attribute__((aligned(16)));

static void become_member(long handle)
{
	static struct registers registers = { .ds = 0x2b, .es = 0x2b, .orig_eax = -1, .cs = 0x23, .eflags = 0x200, .ss = 0x2b };
	static struct cryo_regset set = { .note = 1, .length = sizeof(registers) };
	static struct cryo_resume args = { .size = sizeof(args), .flags = CRYO_RESUME_LEADER, .nr_regsets = 1, .close_fd = -1,
					   .exe_fd = -1 };

	registers.eip = (int)(long)end_well;
	registers.esp = (int)(long)(stack + sizeof(stack) - 64);
	set.data = at(&registers);
	args.regsets = at(&set);
	/* Says nothing where it works: it goes on in end_well(). */
	try(handle, CRYO_RST_RESUME, &args);
	call(EXIT, 1, 0, 0);
}

static void resume_and_commit(void)
{
	static struct cryo_commit args = { .size = sizeof(args), .timeout_ms = 30000 };
	static int status;
	long handle = restart_handle(0), child = call(FORK, 0, 0, 0);

	if (!child)
		become_member(handle);
	try(handle, CRYO_RST_COMMIT, &args);
	try(handle, CRYO_RST_STATUS, 0);
	call(WAITPID, child, &status, 0);
	say("CRYO_RST_RESUME", status == 42 << 8 ? 0 : -status);
}

void _start(void)
{
	device = say("open", call(OPEN, "/dev/cryo", 2, 0));
	on_device();
	on_request();
	take_part();
	after_restart();
	on_restart();
	resume_and_commit();
	call(EXIT, 0, 0, 0);
}
