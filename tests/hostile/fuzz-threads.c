// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz-threads SECONDS SEED - handles in several threads, processes and users at once
 *
 * Small worlds, one after the other and three at a time: a session in a control group of its own, in which several
 * threads make random calls on the same handles, and pass them to a stranger by SCM_RIGHTS. The world is an ordinary
 * user's, root's, or that of root in a user namespace of the user's. It makes checkpoints of all scopes, restarts whose
 * members come back in the middle of their own code, and takes part in checkpoints as a client.
 *
 * Whatever the calls return, this must hold:
 *   - of the CRYO_RST_COMMITs of a handle one succeeds at most, and none of a stranger's; of the CRYO_CKPT_RUNs one
 *   - registers are set once at most: who has come back does not come back again
 *   - what is done to objects of its caller's (fuzz-objects.h) is done to those of its kind, once, and to none of others
 *   - processes of others (root's, some of them in the same tree, session and control group, and another user's) are never
 *     found in a function of the module, compute what they have to, and have the same credentials, seccomp mode,
 *     no_new_privs, root directory and namespaces all the time
 *   - members keep theirs, but for what their own user namespace lets them do
 *   - all processes of a world can be killed
 *
 * The calls of each thread follow from SEED; in which order threads make them does not.
 */
#define _GNU_SOURCE
#include "fuzz-objects.h"

/* ---- a world: what its threads call ---- */

enum slot_kind { NOTHING, CHECKPOINT, RESTART, CLIENT };

struct slot {
	_Atomic int fd;
	_Atomic int kind;
	_Atomic int won;		/* calls of which there can be one */
};

static struct world *world;
static enum kind world_kind;
static struct slot slots[MAX_SLOTS];	/* each is used once */
static _Atomic unsigned int nr_slots;
static int device = -1, null_fd = -1, map_file = -1, to_stranger = -1;
static int patient = -1;			/* a restart handle of which there is no commit */
static pid_t victims[3], stranger;
static bool is_stranger, plain;
static bool is_another;			/* a stranger who has not the world's user */

static void add_slot(int fd, enum slot_kind kind)
{
	unsigned int i;

	if (fd < 0)
		return;
	i = atomic_fetch_add(&nr_slots, 1);
	if (i >= MAX_SLOTS) {
		close(fd);
		return;
	}
	shared->handles++;
	slots[i].fd = fd;
	slots[i].kind = kind;
}

/* One of the last three of that kind; NULL: there is none. */
static struct slot *pick(enum slot_kind kind)
{
	unsigned int skip = below(3), n = nr_slots;
	struct slot *found = NULL;

	for (n = n > MAX_SLOTS ? MAX_SLOTS : n; n--;) {
		if (slots[n].kind != (int)kind)
			continue;
		found = &slots[n];
		if (!skip--)
			break;
	}
	return found;
}

static pid_t some_process(void)
{
	switch (below(8)) {
	case 0: return 0;
	case 1: return getpid();
	/* Root may stop the whole test, in which others then stand for a moment longer than who looks at them. */
	case 2: return world_kind == ROOT ? 0 : getppid();
	case 3: return world->watchman.pid;
	case 4: return stranger;
	default: return victims[below(3)];
	}
}

/* Who is not root may not even ask for these. */
static void ask_for_others(void)
{
	const pid_t who[] = { shared->outsiders[0].pid, shared->outsiders[1].pid, world->watchman.pid, 1 };
	struct cryo_checkpoint args = { .size = sizeof(args), .target = who[below(4)], .out_fd = null_fd, .timeout_ms = 1000 };

	if (args.target && (world_kind != ROOT || is_stranger) && ioctl(device, CRYO_IOC_CHECKPOINT, &args) >= 0)
		violated("a request for pid %d, which is another user's", args.target);
}

static void new_checkpoint(void)
{
	static const uint32_t times[] = { 0, 1, 20, 200, 1000, 20000, 0xffffffff };
	struct cryo_checkpoint args = {
		.size = sizeof(args), .flags = one_in(3) ? (uint32_t)rnd() & CRYO_CKPT_FLAGS : 0, .target = some_process(),
		.scope = below(CRYO_SCOPE_MAX + 1), .out_fd = null_fd, .freeze_ms = times[below(7)],
		.timeout_ms = 1 + below(one_in(8) ? 3000 : 300), .announced_signal = one_in(4) ? SIGTERM : 0,
	};

	add_slot(ioctl(device, CRYO_IOC_CHECKPOINT, &args), CHECKPOINT);
}

static void run(struct slot *slot)
{
	if (ioctl(slot->fd, CRYO_CKPT_RUN, 0) != 0)
		return;
	shared->runs++;
	if (atomic_fetch_add(&slot->won, 1))
		violated("CRYO_CKPT_RUN succeeded twice");
}

static void call_checkpoint(void)
{
	struct cryo_ckpt_context context = { .size = sizeof(context), .id = { 1 } };
	struct cryo_ckpt_device rule = { .size = sizeof(rule), .policy = below(3), .rdev = below(600) };
	struct cryo_ckpt_status status = { .size = sizeof(status) };
	struct cryo_ckpt_verdict verdict = { .size = sizeof(verdict) };
	struct slot *slot = pick(CHECKPOINT);
	struct pollfd wait;
	char text[300];

	if (!slot)
		return;
	wait = (struct pollfd){ .fd = slot->fd, .events = POLLIN };
	switch (below(14)) {
	case 0: ioctl(slot->fd, CRYO_CKPT_THAW, one_in(3) ? SIGCONT : 0); break;
	case 1: if (one_in(2)) ioctl(slot->fd, CRYO_CKPT_CANCEL, 0); break;
	case 2: ioctl(slot->fd, CRYO_CKPT_STATUS, &status); break;
	case 3: ioctl(slot->fd, CRYO_CKPT_VERDICT, &verdict); break;
	case 4: ioctl(slot->fd, CRYO_CKPT_DEVICE, &rule); break;
	case 5: ioctl(slot->fd, CRYO_CKPT_PARENT, &context); break;
	case 6: ioctl(slot->fd, CRYO_CKPT_COMPLETE, &context); break;
	case 7: (void)!read(slot->fd, text, below(sizeof(text))); break;
	case 8: poll(&wait, 1, (int)below(5)); break;
	default: run(slot);
	}
}

static void call_client(void)
{
	struct cryo_client_vote vote = { .size = sizeof(vote), .vote = one_in(3) ? 1 + below(2) : CRYO_VOTE_READY,
					 .code = one_in(2) ? 0 : 1 + below(100) };
	struct cryo_client_range ranges[2] = { { page, 2 * page }, { 4 * page, 5 * page } };
	struct cryo_client_exclude exclude = { .size = sizeof(exclude), .nr_ranges = below(3), .ranges = (uintptr_t)ranges };
	struct cryo_client_forward forward = { .size = sizeof(forward), .scope = below(4), .target = some_process() };
	struct cryo_client_request request = { .size = sizeof(request) };
	struct cryo_client_restart info = { .size = sizeof(info) };
	struct cryo_client_go go = { .size = sizeof(go) };
	struct slot *slot = pick(CLIENT);
	struct pollfd wait;

	if (!slot)
		return;
	wait = (struct pollfd){ .fd = slot->fd, .events = POLLIN };
	switch (below(10)) {
	case 0: ioctl(slot->fd, CRYO_CLIENT_EXCLUDE, &exclude); break;
	case 1: ioctl(slot->fd, CRYO_CLIENT_RESTART_INFO, &info); break;
	case 2: ioctl(slot->fd, CRYO_CLIENT_GO, &go); break;
	case 3: ioctl(slot->fd, CRYO_CLIENT_CLAIM, 0); break;
	case 4: ioctl(slot->fd, CRYO_CLIENT_FORWARD, &forward); break;
	case 5: ioctl(slot->fd, CRYO_CLIENT_NOTE, "a note of a thread"); break;
	default:
		/* Waiting is for who is told; the others go on with other calls. */
		if (poll(&wait, 1, (int)below(10)) == 1 && !ioctl(slot->fd, CRYO_CLIENT_WAIT, &request))
			shared->votes += !ioctl(slot->fd, CRYO_CLIENT_VOTE, &vote);
		else
			ioctl(slot->fd, CRYO_CLIENT_VOTE, &vote);
	}
}

static void new_client(void)
{
	struct cryo_client args = { .size = sizeof(args), .flags = one_in(3) ? (uint32_t)rnd() & CRYO_CLIENT_FLAGS : 0 };

	add_slot(ioctl(device, CRYO_IOC_CLIENT, &args), CLIENT);
}

static void commit(struct slot *slot)
{
	struct cryo_commit args = { .size = sizeof(args), .timeout_ms = 1 + below(500), .signal = one_in(4) ? SIGCONT : 0 };

	if (ioctl(slot->fd, CRYO_RST_COMMIT, &args) != 0)
		return;
	shared->commits++;
	if (is_stranger)
		violated("a stranger's CRYO_RST_COMMIT succeeded");
	if (atomic_fetch_add(&slot->won, 1))
		violated("CRYO_RST_COMMIT succeeded twice");
}

/* What acts on objects of the caller's. Who is another than the world's user gets nothing done, and has none of these objects. */
static void call_of_others(struct slot *slot)
{
	struct cryo_epoll_disarm disarm = { .size = sizeof(disarm), .epoll_fd = -1, .target_fd = -1 };

	for (unsigned int i = below(6); i && !is_stranger; i--)
		call_object(one_in(2) ? slot->fd : patient, victims[below(3)], world_kind == ROOT);
	if (!is_stranger)
		return;
	if (is_another && world_kind == A_USER && ioctl(slot->fd, CRYO_RST_EPOLL_DISARM, &disarm) && errno == EBADF)
		violated("a stranger's call of a restart handle got beyond the question who he is");
}

static void call_restart(void)
{
	struct cryo_map_file file = { .size = sizeof(file), .fd = map_file, .file = below(3) };
	struct cryo_outer_pid outer = { .size = sizeof(outer), .pid = getpid() };
	struct cryo_nested_cursor cursor = { .size = sizeof(cursor), .pid = 30000 + (int)below(1000), .up = below(2) };
	struct cryo_timer_state timer = { .size = sizeof(timer), .what = below(3), .id = (int)below(3) };
	struct slot *slot = pick(RESTART);
	char text[300];

	if (!slot)
		return;
	if (one_in(3)) {
		call_of_others(slot);
		return;
	}
	switch (below(12)) {
	case 0: ioctl(slot->fd, CRYO_RST_STATUS, 0); break;
	case 1: ioctl(slot->fd, CRYO_RST_MAP_FILE, &file); break;
	case 2: ioctl(slot->fd, CRYO_RST_OUTER_PID, &outer); break;
	case 3: ioctl(slot->fd, CRYO_RST_PID_CURSOR, &cursor); break;
	case 4: ioctl(slot->fd, CRYO_RST_TIMER, &timer); break;
	case 5: (void)!read(slot->fd, text, below(sizeof(text))); break;
	default:
		nap_us(below(20000));
		commit(slot);
	}
}

/* ---- handles on their way to others ---- */

union control {
	char space[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static void pass_on(void)
{
	char kind = (char)(CHECKPOINT + below(3));
	struct slot *slot = pick((enum slot_kind)kind);
	struct iovec part = { &kind, 1 };
	union control control;
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int fd;

	if (!slot || to_stranger < 0)
		return;
	fd = slot->fd;
	memset(&control, 0, sizeof(control));
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	shared->passed_on += sendmsg(to_stranger, &message, MSG_DONTWAIT) == 1;
}

static void take(int from)
{
	char kind = 0;
	struct iovec part = { &kind, 1 };
	union control control;
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	struct cmsghdr *header;
	int fd;

	if (recvmsg(from, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1)
		return;
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_type != SCM_RIGHTS)
		return;
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	add_slot(fd, (enum slot_kind)kind);
}

static void one_call(void)
{
	shared->calls++;
	switch (below(16)) {
	case 0: new_checkpoint(); break;
	case 1: new_client(); break;
	case 2: ask_for_others(); break;
	case 3: pass_on(); break;
	case 4: case 5: case 6: case 7: call_client(); break;
	case 8: case 9: case 10: call_restart(); break;
	default: call_checkpoint();
	}
}

/* ---- members of a restart ---- */

static int join(int handle, struct cryo_resume *args)
{
	return ioctl(handle, CRYO_RST_RESUME, args);
}

/* A filter that allows everything, which is more than an ordinary process may install. */
static void add_filter(struct cryo_resume *args)
{
	static struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	static struct sock_fprog program = { 1, allow };
	static struct cryo_seccomp_program filter;

	filter.program = (uintptr_t)&program;
	args->seccomp = (uintptr_t)&filter;
	args->nr_seccomp = 1;
	args->seccomp_mode = SECCOMP_MODE_FILTER;
}

#define SUM_OF_ZEROS	(page == 4096 ? 0x332c45ecU : 0xa60f2740U)	/* 4 pages; lower half of the XXH64 */

static unsigned char *map_zeros(int handle)
{
	unsigned char *area = mmap(NULL, 16 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct cryo_map_chunk chunk = { .nr_pages = 4, .checksum = SUM_OF_ZEROS };
	struct cryo_map_run piece = { .start = (uintptr_t)area + 4 * page, .nr_pages = 4 };
	struct cryo_map args = { .size = sizeof(args), .flags = below(2), .start = (uintptr_t)area,
				 .end = (uintptr_t)area + 16 * page, .runs = (uintptr_t)&piece, .chunks = (uintptr_t)&chunk,
				 .nr_runs = 1, .nr_chunks = 1 };

	if (ioctl(handle, CRYO_RST_MAP, &args))
		return NULL;
	mprotect(area, 16 * page, PROT_READ | PROT_WRITE);
	return area;
}

static unsigned char *mapped;

static void *wait_as_thread(void *handle)
{
	static unsigned char nonsense[MAX_REGISTERS];
	struct cryo_regset set = { .note = NT_PRSTATUS, .length = world->members[0].length, .data = (uintptr_t)nonsense };
	struct cryo_resume args = { .size = sizeof(args), .regsets = (uintptr_t)&set, .nr_regsets = 1, .close_fd = -1, .exe_fd = -1 };

	join(*(int *)handle, &args);
	return NULL;
}

/* In a process of one thread, whose parent is the coordinator. */
static void call_object_alone(int handle)
{
	if (one_in(4))
		choose_exit_signal(handle, false);
	else if (one_in(2))
		put_datagram(handle);
	else
		set_ring(handle);
}

static void resume(const struct member *self, int handle, bool simple)
{
	struct cryo_regset set = { .note = NT_PRSTATUS, .length = self->length, .data = (uintptr_t)self->registers };
	struct cryo_resume args = {
		.size = sizeof(args), .regsets = (uintptr_t)&set, .nr_regsets = 1, .close_fd = -1, .exe_fd = -1,
		.flags = !simple && one_in(6) ? (uint32_t)rnd() & CRYO_RESUME_FLAGS : CRYO_RESUME_LEADER,
		.death_signal = one_in(8) ? SIGKILL : 0, .signal = one_in(8) ? SIGCONT : 0,
	};
	void *spare = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	if (one_in(2)) {
		args.flags |= self == &world->members[0] ? CRYO_RESUME_OWNS_FS : 0;
		args.fs_of = 1;
	}
	if (simple) {
		join(handle, &args);
		return;
	}
	if (one_in(4)) {
		args.flags |= one_in(2) ? CRYO_RESUME_OWNS_FILES : 0;
		args.files_of = 1;
	}
	if (one_in(5))
		add_filter(&args);
	if (one_in(4))
		args.exe_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (one_in(4))
		args.close_fd = handle;
	if (one_in(4)) {
		args.unmap_start = (uintptr_t)spare;
		args.unmap_len = page;
	}
	if (one_in(6)) {
		args.restart.kind = below(5);
		args.restart.time_flags = below(4);
		args.restart.time_ns = (int64_t)below(1000000);
	}
	if (one_in(3))
		mapped = map_zeros(handle);
	for (unsigned int i = below(4); i; i--)
		call_object_alone(handle);
	if (one_in(10))
		pthread_create(&thread, NULL, wait_as_thread, &handle);
	join(handle, &args);
	if (one_in(2))
		join(handle, &args);
}

/* In an ordinary process, whatever others in the group are and do. */
static void check_self(void)
{
	struct stat root;
	uid_t real, effective, saved;

	if (prctl(PR_GET_SECCOMP))
		violated("a member got a seccomp filter without the right to it");
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0))
		violated("a member got no_new_privs");
	if (getresuid(&real, &effective, &saved) || real != USER || effective != USER || saved != USER)
		violated("a member became another user: %d, %d, %d", real, effective, saved);
	if (stat("/", &root) || root.st_ino != root_directory.st_ino || root.st_dev != root_directory.st_dev)
		violated("a member got another root directory");
}

static void after_landing(struct member *self, bool in_namespace)
{
	const bool ordinary = world_kind == A_USER && !in_namespace;

	if (atomic_fetch_add(&self->landed, 1))
		violated("a member's registers were set twice");
	shared->landed++;
	for (size_t i = 0; mapped && i < 16 * page; i += 512)
		if (mapped[i])
			violated("wrong bytes in memory that is mapped");
	if (in_namespace && chroot("/proc"))
		nap_us(1);
	for (int i = 0; i < 10; i++) {
		pid_t pid;

		if (ordinary)
			check_self();
		/* What another commit would take for a thread that is parked. */
		pid = vfork();
		if (!pid) {
			nap_us(20000);
			_exit(0);
		}
		waitpid(pid, NULL, __WALL);
	}
	for (;;)
		pause();
}

/*
 * The registers that it comes back with are those of its stop, which the coordinator reads: so it comes to the
 * line after that twice.
 */
__attribute__((noinline)) static void member(struct member *volatile self, volatile int handle, volatile bool in_namespace)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	syscall(SYS_tgkill, getpid(), getpid(), SIGSTOP);
	if (atomic_fetch_add(&self->passed, 1)) {
		after_landing(self, in_namespace);
		_exit(0);
	}
	/* The frames of the stop stay as they are. */
	*(volatile char *)alloca(KEPT_STACK) = 0;
	nap_us(below(10000));
	if (in_namespace)
		in_namespace = enter_namespace();
	resume(self, handle, plain);
	/* It was refused: lives on, without ever having been a member. */
	if (world_kind == A_USER && !in_namespace)
		check_self();
	_exit(0);
}

static pid_t start_member(struct member *self, int handle, bool in_namespace, uint64_t seed)
{
	struct iovec part = { self->registers, sizeof(self->registers) };
	int status;
	pid_t pid;

	self->passed = self->landed = 0;
	pid = fork();
	if (!pid) {
		state = seed;
		member(self, handle, in_namespace);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return -1;
	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &part) || ptrace(PTRACE_DETACH, pid, 0, 0))
		return -1;
	self->length = (uint32_t)part.iov_len;
	self->pid = pid;
	return pid;
}

/* Before there are threads, as it forks. */
static void start_restart(void)
{
	const unsigned int processes = 1 + below(MEMBERS), lacking = one_in(8);
	struct cryo_restart args = { .size = sizeof(args), .threads = processes + lacking, .processes = processes };
	int handle = ioctl(device, CRYO_IOC_RESTART, &args);
	struct cryo_map_file file = { .size = sizeof(file), .fd = map_file };

	if (handle < 0)
		return;
	plain = one_in(2);		/* those come back most often */
	ioctl(handle, CRYO_RST_MAP_FILE, &file);
	add_slot(handle, RESTART);
	for (unsigned int i = 0; i < processes; i++)
		if (start_member(&world->members[i], handle, world_kind == A_USER && one_in(4), rnd()) < 0)
			return;
}

/* ---- a world ---- */

static void *idle(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static pid_t new_victim(int number)
{
	pid_t pid = fork();
	pthread_t thread;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close_range(0, ~0U, 0);
	open("/dev/null", O_RDWR);
	munmap(shared, sizeof(*shared));	/* what others have, too, would be an obstacle */
	if (number == 1)
		pthread_create(&thread, NULL, idle, NULL);
	if (number == 2)
		setpgid(0, 0);
	/* Waits where no request can stop it, for longer than most. */
	while (number == 2 && (pid = vfork()) != -1) {
		if (!pid) {
			nap_us(300000);
			_exit(0);
		}
		waitpid(pid, NULL, __WALL);
	}
	idle(NULL);
	_exit(0);
}

static void *make_calls(void *seed)
{
	struct slot *slot;
	unsigned int n;

	state = *(uint64_t *)seed;
	n = 20 + below(40);
	/* All of them at once, while members are on their way. */
	slot = one_in(2) ? pick(RESTART) : NULL;
	if (slot)
		commit(slot);
	for (unsigned int i = 0; i < n; i++)
		one_call();
	return NULL;
}

static void live_as_stranger(int from, uint64_t seed)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	state = seed;
	is_stranger = true;
	nr_slots = 0;
	is_another = one_in(2);
	become_user(is_another ? STRANGER : USER);
	if (one_in(2))
		enter_namespace();
	for (;;) {
		take(from);
		one_call();
		nap_us(below(3000));
	}
}

static void start_stranger(void)
{
	uint64_t seed = rnd();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		_exit(7);
	stranger = fork();
	if (!stranger) {
		close(pair[0]);
		live_as_stranger(pair[1], seed);
	}
	close(pair[1]);
	to_stranger = pair[0];
}

/* 16 pages of zeros, which nobody can write to any more. */
static void make_map_file(void)
{
	char path[] = "/var/tmp/fuzz-threads.XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)(16 * page)))
		_exit(4);
	map_file = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	close(fd);
}

static void be_world(int number, enum kind kind, uint64_t seed)
{
	struct cryo_restart args = { .size = sizeof(args), .threads = 1 };
	uint64_t seeds[THREADS];
	pthread_t threads[THREADS];
	char path[64];

	world = &shared->worlds[number];
	world_kind = kind;
	state = seed;
	setsid();
	snprintf(path, sizeof(path), GROUPS "/%d/cgroup.procs", number);
	if (!write_text(path, "0"))
		_exit(6);
	device = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (device < 0)
		_exit(5);
	start_stranger();
	start_outsider(&world->watchman, 0, false);
	if (kind != ROOT) {
		make_root_objects();
		become_user(USER);
	}
	make_map_file();
	patient = ioctl(device, CRYO_IOC_RESTART, &args);
	if (kind == ROOT_IN_NAMESPACE && !enter_namespace())
		_exit(3);
	make_objects();
	for (int i = 0; i < 3; i++)
		victims[i] = new_victim(i);
	if (!one_in(3))
		start_restart();
	for (int i = 0; i < THREADS; i++) {
		seeds[i] = rnd();
		if (pthread_create(&threads[i], NULL, make_calls, &seeds[i]))
			_exit(2);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* Members have come back, or never do; look at what became of them. */
	nap_us(200000);
	for (int i = 0, status; i < MEMBERS; i++)
		if (world->members[i].pid && waitpid(world->members[i].pid, &status, WNOHANG) > 0)
			shared->ended[WIFSIGNALED(status) ? WTERMSIG(status) : 0]++;
	_exit(0);
}

/* ---- all worlds ---- */

struct slot_of_world {
	pid_t pid;
	enum kind kind;
	long until;
};

static void start_world(struct slot_of_world *slot, int number, enum kind kind, uint64_t seed)
{
	struct world *w = &shared->worlds[number];

	memset(w, 0, sizeof(*w));
	slot->kind = kind;
	slot->until = now_ms() + 4000L * factor;
	slot->pid = fork();
	if (!slot->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_world(number, kind, seed);
	}
}

static void look_at_outsiders(const struct slot_of_world *slots)
{
	for (int i = 0; i < OUTSIDERS; i++)
		look_at_stack(&shared->outsiders[i]);
	for (int i = 0; i < WORLDS; i++)
		if (slots[i].pid && slots[i].kind != ROOT && shared->worlds[i].watchman.pid)
			look_at_stack(&shared->worlds[i].watchman);
}

static unsigned int run_worlds(int seconds, uint64_t seed, unsigned int *failed)
{
	struct slot_of_world slots[WORLDS] = { { 0 } };
	const long end = now_ms() + seconds * 1000L;
	unsigned int started = 0, running = 0;

	while (running || now_ms() < end) {
		for (int i = 0; i < WORLDS; i++) {
			int status = 0;

			if (!slots[i].pid && now_ms() < end) {
				start_world(&slots[i], i, (enum kind)(started % KINDS), seed + started * 1000003ULL);
				started++;
				running++;
			} else if (slots[i].pid && (now_ms() > slots[i].until ||
						    waitpid(slots[i].pid, &status, WNOHANG) == slots[i].pid)) {
				*failed += WIFEXITED(status) && WEXITSTATUS(status);
				check_watchman(&shared->worlds[i].watchman, slots[i].kind);
				end_world(i);
				waitpid(slots[i].pid, NULL, 0);
				slots[i].pid = 0;
				running--;
			}
		}
		look_at_outsiders(slots);
		nap_us(500);
	}
	return started;
}

static int result(int number, bool good, const char *what)
{
	printf("%sok %d - %s\n", good ? "" : "not ", number, what);
	return !good;
}

/* Members come back with random registers, and fault; the kernel need not write that down. */
static void prepare(void)
{
	const char *text = getenv("CRTEST_FACTOR");

	setvbuf(stdout, NULL, _IONBF, 0);
	factor = text && atoi(text) > 1 ? (unsigned int)atoi(text) : 1;
	page = (size_t)sysconf(_SC_PAGESIZE);
	write_text("/proc/sys/debug/exception-trace", "0");
	stat("/", &root_directory);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

int main(int argc, char **argv)
{
	char before[OUTSIDERS][4096];
	unsigned int failed = 0, started;
	int bad = 0;

	if (argc != 3)
		return 2;
	prepare();
	if (shared == MAP_FAILED || !make_groups())
		return 4;
	start_outsider(&shared->outsiders[0], 0, true);
	start_outsider(&shared->outsiders[1], OTHER_USER, true);
	nap_us(300000);
	for (int i = 0; i < OUTSIDERS; i++)
		describe(shared->outsiders[i].pid, before[i], sizeof(before[i]));
	started = run_worlds(atoi(argv[1]), strtoull(argv[2], NULL, 10), &failed);
	printf("# %u worlds, %lu calls, %lu handles, %lu passed on; %lu checkpoints, %lu commits, %lu members came back, %lu votes\n",
	       started, shared->calls, shared->handles, shared->passed_on, shared->runs, shared->commits, shared->landed,
	       shared->votes);
	for (int i = 0; i < 65; i++)
		if (shared->ended[i])
			printf("# %lu members ended %s%s\n", shared->ended[i], i ? "by SIG" : "", i ? sigabbrev_np(i) : "by themselves");
	printf("#");
	for (int i = 0; i < OBJECT_CALLS; i++)
		printf(" %s %lu", object_calls[i], shared->object_calls[i]);
	printf("\n# %u times what must not happen:\n", shared->violations);
	for (unsigned int i = 0; i < MAX_TEXTS && shared->texts[i][0]; i++)
		printf("# %s\n", shared->texts[i]);
	bad += result(1, !shared->violations, "what must never happen has not happened");
	bad += result(2, outsiders_well(before), "processes of others are as they were");
	bad += result(3, failed * 4 < started, "worlds come into being");
	/* Else all that may not happen was not tried. */
	bad += result(4, shared->runs && shared->commits && shared->landed && shared->passed_on &&
		      shared->object_calls[OF_PEER_PID] && shared->object_calls[OF_EPOLL],
		      "checkpoints and restarts were among it");
	for (int i = 0; i < OUTSIDERS; i++)
		kill(shared->outsiders[i].pid, SIGKILL);
	while (wait(NULL) > 0)
		;
	remove_groups();
	printf("1..4\n");
	return bad ? 1 : 0;
}
