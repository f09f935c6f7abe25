// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who may call what of a restart handle, and when: each call in each state, by each kind of caller, twice and by two
 * threads at once.  The calls have arguments that are refused for what they are when nothing else forbids the call.
 * And what comes of a restart of which a member is lost in one of the states.
 *
 * Two states last too short a time to be met: they are looked at where the module has places to stop (tests/points).
 */
#include "restarting.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <sys/eventfd.h>

/* ---- the table, as the interface promises it; the module has its own ---- */

enum state { GATHER, COMMITTING, REGISTERS, SETUP, TABLES, GO, ABORTED, NR_STATES };

static const char *const state_names[] = { "before the commit", "while threads are waited for", "when registers are set",
					   "while a process is finished", "when tables are set", "after the commit",
					   "after it has been given up" };

enum who { COORDINATOR, CHILD, OTHER_USER, OWN_NAMESPACE, OUTSIDE, NR_WHO };

static const char *const who_names[] = { "the coordinator", "a child", "another user", "root of a namespace of the maker's",
					 "one outside of the maker's namespace" };

#define ALL_STATES	((1U << NR_STATES) - 1)
#define ALL_WHO		((1U << NR_WHO) - 1)
#define USERS		(1U << COORDINATOR | 1U << CHILD | 1U << OWN_NAMESPACE)

enum call {
	DO_RESUME, DO_COMMIT, DO_STATUS, DO_MAP_FILE, DO_MAP, DO_PID_CURSOR, DO_OUTER_PID, DO_PEER_PID, DO_PORT, DO_DATAGRAM, DO_INOTIFY_EVENT,
	DO_EPOLL_DISARM, DO_EXIT_SIGNAL, DO_TIMER, DO_URING, DO_MMAP, DO_SHADOW_STACK, DO_NO_CALL, NR_CALLS
};

static const struct {
	const char *name;
	int error;			/* of these arguments, where the call is allowed */
	unsigned int who, states;
} table[NR_CALLS] = {
	[DO_RESUME] = { "RESUME", EINVAL, USERS, 1U << GATHER | 1U << COMMITTING },
	[DO_COMMIT] = { "COMMIT", EINVAL, 1U << COORDINATOR, 1U << GATHER },
	[DO_STATUS] = { "STATUS", 0, ALL_WHO, ALL_STATES },
	[DO_MAP_FILE] = { "MAP_FILE", EBADF, 1U << COORDINATOR, 1U << GATHER },
	[DO_MAP] = { "MAP", EINVAL, USERS, 1U << GATHER },
	[DO_PID_CURSOR] = { "PID_CURSOR", ERANGE, USERS, 1U << GATHER },
	[DO_OUTER_PID] = { "OUTER_PID", ESRCH, USERS, 1U << GATHER },
	[DO_PEER_PID] = { "PEER_PID", EBADF, USERS, 1U << GATHER },
	[DO_PORT] = { "PORT", EBADF, USERS, 1U << GATHER },
	[DO_DATAGRAM] = { "DATAGRAM", EBADF, USERS, 1U << GATHER },
	[DO_INOTIFY_EVENT] = { "INOTIFY_EVENT", EBADF, USERS, 1U << GATHER },
	[DO_EPOLL_DISARM] = { "EPOLL_DISARM", EBADF, USERS, 1U << GATHER },
	[DO_EXIT_SIGNAL] = { "EXIT_SIGNAL", EINVAL, USERS, 1U << GATHER },
	[DO_TIMER] = { "TIMER", ENOENT, USERS, 1U << GATHER },
	[DO_URING] = { "URING", EBADF, USERS, 1U << GATHER },
	[DO_MMAP] = { "mmap()", EBADF, USERS, 1U << GATHER },
	/* Of memory that is none. */
	[DO_SHADOW_STACK] = { "SHADOW_STACK", EACCES, USERS & ~(1U << COORDINATOR), 1U << GATHER },
	[DO_NO_CALL] = { "no call", ENOTTY, ALL_WHO, ALL_STATES },
};

static int expected(enum call call, enum state state, enum who who)
{
	if (!(table[call].who & 1U << who))
		return call == DO_SHADOW_STACK && who == COORDINATOR && state != GATHER ? EBUSY : EPERM;
	return table[call].states & 1U << state ? table[call].error : EBUSY;
}

/* ---- the calls ---- */

static size_t page;
static unsigned char bytes[65536];

/* 0, or an errno value. */
static int try_call(int handle, enum call call)
{
	struct cryo_resume resume_args = { .size = sizeof(resume_args), .close_fd = -1, .exe_fd = -1 };
	struct cryo_commit commit_args = { .size = sizeof(commit_args), .flags = ~0U };
	struct cryo_map_file map_file = { .size = sizeof(map_file), .fd = -1 };
	struct cryo_map map = { .size = sizeof(map) };
	struct cryo_nested_cursor cursor = { .size = sizeof(cursor), .pid = -1 };
	struct cryo_outer_pid outer = { .size = sizeof(outer) };
	struct cryo_peer_pid peer = { .size = sizeof(peer), .fd = -1 };
	struct cryo_port port = { .size = sizeof(port), .fd = -1, .port = 1 };
	struct cryo_datagram datagram = { .size = sizeof(datagram), .fd = -1 };
	struct cryo_inotify_put event = { .size = sizeof(event), .fd = -1, .wd = 1, .mask = 1 };
	struct cryo_epoll_disarm disarm = { .size = sizeof(disarm), .epoll_fd = -1, .target_fd = -1 };
	struct cryo_timer_state timer = { .size = sizeof(timer), .what = CRYO_TIMER_COUNTS, .id = 77 };
	struct cryo_exit_signal exit_signal = { .size = sizeof(exit_signal), .signal = -1 };
	struct cryo_uring_counters ring = { .size = sizeof(ring), .fd = -1 };
	struct cryo_shadow_stack stack = { .size = sizeof(stack), .data = (uintptr_t)bytes, .length = page };
	const struct {
		unsigned long cmd;
		void *arg;
	} calls[NR_CALLS] = {
		[DO_RESUME] = { CRYO_RST_RESUME, &resume_args }, [DO_COMMIT] = { CRYO_RST_COMMIT, &commit_args },
		[DO_STATUS] = { CRYO_RST_STATUS, NULL }, [DO_MAP_FILE] = { CRYO_RST_MAP_FILE, &map_file },
		[DO_MAP] = { CRYO_RST_MAP, &map }, [DO_PID_CURSOR] = { CRYO_RST_PID_CURSOR, &cursor },
		[DO_OUTER_PID] = { CRYO_RST_OUTER_PID, &outer }, [DO_PEER_PID] = { CRYO_RST_PEER_PID, &peer },
		[DO_PORT] = { CRYO_RST_PORT, &port }, [DO_DATAGRAM] = { CRYO_RST_DATAGRAM, &datagram },
		[DO_INOTIFY_EVENT] = { CRYO_RST_INOTIFY_EVENT, &event },
		[DO_EPOLL_DISARM] = { CRYO_RST_EPOLL_DISARM, &disarm }, [DO_TIMER] = { CRYO_RST_TIMER, &timer },
		[DO_URING] = { CRYO_RST_URING, &ring }, [DO_SHADOW_STACK] = { CRYO_RST_SHADOW_STACK, &stack },
		[DO_EXIT_SIGNAL] = { CRYO_RST_EXIT_SIGNAL, &exit_signal },
		[DO_NO_CALL] = { _IO(CRYO_IOC_TYPE, 0x7f), NULL },
	};
	void *at;

	if (call != DO_MMAP)
		return ioctl(handle, calls[call].cmd, calls[call].arg) < 0 ? errno : 0;
	at = mmap(NULL, page, PROT_READ, MAP_SHARED, handle, (off_t)1000 << CRYO_URING_FD_SHIFT);
	return at == MAP_FAILED ? errno : 0;
}

static int call_handle;

static void *call_in_thread(void *arg)
{
	enum call call = (enum call)(intptr_t)arg;

	return (void *)(intptr_t)try_call(call_handle, call);
}

static struct shared {
	volatile int results[NR_CALLS][4];	/* at once, again, and in two threads */
	volatile bool ready, go, stop;
} *shared;

/* In the process that calls: it leaves what comes of it. */
static void try_all(int handle)
{
	pthread_t threads[2];
	void *result;

	call_handle = handle;
	for (int call = 0; call < NR_CALLS; call++) {
		shared->results[call][0] = try_call(handle, (enum call)call);
		shared->results[call][1] = try_call(handle, (enum call)call);
		for (int i = 0; i < 2; i++)
			if (pthread_create(&threads[i], NULL, call_in_thread, (void *)(intptr_t)call))
				die("pthread_create");
		for (int i = 0; i < 2; i++) {
			pthread_join(threads[i], &result);
			shared->results[call][2 + i] = (int)(intptr_t)result;
		}
	}
}

static void judge(enum state state, enum who who)
{
	int wrong = 0;

	for (int call = 0; call < NR_CALLS; call++) {
		int wanted = expected((enum call)call, state, who);

		for (int i = 0; i < 4; i++) {
			int got = shared->results[call][i];

			if (got == wanted || (call == DO_PID_CURSOR && wanted == ERANGE && got == EOPNOTSUPP))
				continue;	/* an administrator may have switched that off */
			wrong++;
			printf("# %s, time %d: %s instead of %s\n", table[call].name, i, strerror(got), strerror(wanted));
		}
	}
	ok(!wrong, "%s, %s", state_names[state], who_names[who]);
}

/* ---- callers ---- */

static void await(volatile bool *what)
{
	for (unsigned int i = 0; i < 20000 * factor() && !*what; i++)
		sleep_ms(1);
	if (!*what)
		die("nobody comes");
}

/* A caller of some kind, but for the coordinator and who is outside: a child of the maker's. */
static void try_as(int handle, enum who who)
{
	pid_t pid;

	memset((void *)shared->results, 0xff, sizeof(shared->results));
	if (who == COORDINATOR) {
		try_all(handle);
		return;
	}
	pid = fork();
	if (!pid) {
		if (who == OTHER_USER && (setresuid(ORDINARY + 1, ORDINARY + 1, ORDINARY + 1)))
			die("setresuid");
		if (who == OWN_NAMESPACE && unshare(CLONE_NEWUSER))
			die("unshare(CLONE_NEWUSER)");
		try_all(handle);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* ---- states ---- */

static struct start ends;

static void end_well(void)
{
	_exit(42);
}

static int commit_handle, commit_result;

static void *committer(void *arg)
{
	(void)arg;
	commit_result = commit(commit_handle, 20000 * factor());
	return NULL;
}

static int member_handle;

static void *be_leader(void *arg)
{
	struct cryo_regset set;
	struct cryo_resume args = resume_args(&ends, &set);

	resume(member_handle, &args);
	_exit(98);
	return arg;
}

/* Its main thread does not end, as one is waited for to do whose other thread finishes the process. */
static void resume_beside_main(int handle)
{
	pthread_t thread;

	member_handle = handle;
	pthread_create(&thread, NULL, be_leader, NULL);
	await(&shared->stop);
	syscall(SYS_exit, 0);
}

/* Opened by root; -1: the module has no places to stop. */
static int stop_point = -1, stop_pid = -1;

/* Who commits stops there, in a state which it leaves at once otherwise. */
static const char *const stops[NR_STATES] = { [REGISTERS] = "registers", [TABLES] = "before-go" };

static void stop_at(const char *point)
{
	if (pwrite(stop_point, point, strlen(point) + 1, 0) < 0)
		die("stop_point");
}

static bool somebody_stopped(void)
{
	char text[16] = "";

	return pread(stop_pid, text, sizeof(text) - 1, 0) > 0 && atoi(text);
}

static void await_stopped(void)
{
	for (unsigned int i = 0; i < 2000 * factor() && !somebody_stopped(); i++)
		sleep_ms(10);
	if (!somebody_stopped())
		die("nobody stops");
}

/* Only these: for a module with places to stop, as the other states are no others there. */
static bool moments_only;

static bool can_be_in(enum state state)
{
	return stops[state] ? stop_point >= 0 : !moments_only;
}

/* A handle in @state; @who calls, and is judged.  @user: the maker has no capability. */
static void in_state(enum state state, enum who who, bool user)
{
	int handle = make_handle(1, 1), status = 0;
	pthread_t thread;
	pid_t pid = 0;

	shared->stop = false;
	commit_handle = handle;
	if (stops[state])
		stop_at(stops[state]);
	if (state >= COMMITTING && state <= GO) {
		pthread_create(&thread, NULL, committer, NULL);
		sleep_ms(200);
	}
	if (state > COMMITTING && state <= GO) {
		pid = fork();
		if (!pid && state == SETUP)
			resume_beside_main(handle);
		if (!pid) {
			member_handle = handle;
			be_leader(NULL);
		}
	}
	if (state == GO)
		pthread_join(thread, NULL);
	if (state == SETUP)
		sleep_ms(1000 * factor());
	if (stops[state])
		await_stopped();
	if (state == ABORTED)
		commit(handle, 1);
	if (user || who != OTHER_USER)
		try_as(handle, who);
	judge(state, who);
	shared->stop = true;
	if (stops[state])
		stop_at("");
	if (state > COMMITTING && state < GO)
		pthread_join(thread, NULL);
	if (pid) {
		waitpid(pid, &status, 0);
		ok(commit_result == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 42, "... and the member goes on");
		show_log(handle);
	}
	if (state == COMMITTING) {
		pid = fork();
		if (!pid) {
			member_handle = handle;
			be_leader(NULL);
		}
		pthread_join(thread, NULL);
		waitpid(pid, &status, 0);
		ok(commit_result == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 42, "... and the member goes on");
	}
	close(handle);
}

/* ---- members that are lost ---- */

enum end { KILLED, EXECUTES, NR_ENDS };

static const char *const end_names[] = { "is killed", "executes a program" };

static void *end_beside(void *arg)
{
	await(&shared->go);
	if ((enum end)(intptr_t)arg == EXECUTES)
		execl("/bin/sh", "sh", "-c", "exit 7", NULL);
	kill(getpid(), SIGKILL);
	return NULL;
}

/* Two processes, of which the first one has a thread that ends it, one way or the other; the second one comes last, and is late. */
static void loses(enum state state, enum end end)
{
	int handle = make_handle(2, 2), status = 0, late = 0, err;
	pid_t first, second = 0;
	pthread_t thread;

	shared->go = shared->stop = false;
	commit_handle = member_handle = handle;
	if (stops[state])
		stop_at(stops[state]);
	first = fork();
	if (!first) {
		pthread_create(&thread, NULL, end_beside, (void *)(intptr_t)end);
		be_leader(NULL);
	}
	if (state != GATHER) {
		pthread_create(&thread, NULL, committer, NULL);
		sleep_ms(100 * factor());
	}
	if (state > COMMITTING) {
		second = fork();
		if (!second && state == SETUP)
			resume_beside_main(handle);
		if (!second)
			be_leader(NULL);
	}
	sleep_ms(100 * factor());
	if (stops[state])
		await_stopped();
	shared->go = true;
	waitpid(first, &status, 0);
	if (stops[state])
		stop_at("");
	if (state == GATHER) {
		commit_result = commit(handle, 20000 * factor());
	} else {
		pthread_join(thread, NULL);
	}
	err = try_call(handle, DO_MAP_FILE);
	shared->stop = true;
	if (second)
		waitpid(second, &late, 0);
	if (!ok(commit_result == ESRCH && err == EBUSY && (!second || (WIFSIGNALED(late) && WTERMSIG(late) == SIGKILL)) &&
		(end == EXECUTES ? WIFEXITED(status) && WEXITSTATUS(status) == 7 : WIFSIGNALED(status)),
		"%s, a member %s: nobody goes on", state_names[state], end_names[end])) {
		printf("# commit: %s, then: %s, ends %#x %#x\n", strerror(commit_result), strerror(err), (unsigned int)status,
		       (unsigned int)late);
		show_log(handle);
	}
	close(handle);
}

/* A thread that is parked has what it came with, whoever else of its process becomes somebody else. */
static void uid_is_left(void)
{
	_exit(getuid() == 0 && geteuid() == 0 ? 42 : 41);
}

static void *become_another_beside(void *arg)
{
	await(&shared->go);
	/* This thread only. */
	if (syscall(SYS_setresuid, ORDINARY, ORDINARY, ORDINARY))
		die("setresuid");
	shared->ready = true;
	pause();
	return arg;
}

/* Root's. */
static void becomes_another(void)
{
	int handle = make_handle(1, 1), status = 0;
	struct start root_start;
	pthread_t thread;
	pid_t pid;

	take_start(&root_start, uid_is_left);
	shared->go = shared->ready = false;
	pid = fork();
	if (!pid) {
		pthread_create(&thread, NULL, become_another_beside, NULL);
		ends = root_start;
		member_handle = handle;
		be_leader(NULL);
	}
	sleep_ms(100 * factor());
	shared->go = true;
	await(&shared->ready);
	commit_result = commit(handle, 20000 * factor());
	waitpid(pid, &status, 0);
	if (!ok(!commit_result && WIFEXITED(status) && WEXITSTATUS(status) == 42,
		"another thread of a member's process changes its user: the member has its own")) {
		printf("# commit: %s, end %#x\n", strerror(commit_result), (unsigned int)status);
		show_log(handle);
	}
	close(handle);
}

/* A maker who is root in a user namespace of his own, and a caller of the same user who is not in it. */
static void outside(void)
{
	int pair[2], handle;
	pid_t maker;

	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	shared->stop = false;
	maker = fork();
	if (!maker) {
		if (unshare(CLONE_NEWUSER))
			die("unshare(CLONE_NEWUSER)");
		send_fd(pair[0], make_handle(1, 1));
		await(&shared->stop);
		_exit(0);
	}
	handle = receive_fd(pair[1]);
	memset((void *)shared->results, 0xff, sizeof(shared->results));
	try_all(handle);
	judge(GATHER, OUTSIDE);
	shared->stop = true;
	waitpid(maker, NULL, 0);
	try_all(handle);
	judge(ABORTED, OUTSIDE);
	close(handle);
}

/* Another user's process with the handle of an ordinary one. */
static void strangers(void)
{
	int pair[2], handle;
	pid_t maker;

	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	shared->stop = false;
	maker = fork();
	if (!maker) {
		become_user(ORDINARY);
		send_fd(pair[0], make_handle(1, 1));
		await(&shared->stop);
		_exit(0);
	}
	handle = receive_fd(pair[1]);
	try_as(handle, OTHER_USER);
	judge(GATHER, OTHER_USER);
	/* And root himself is no process of the user's. */
	try_as(handle, CHILD);
	ok(shared->results[DO_RESUME][0] == EPERM && shared->results[DO_PID_CURSOR][0] == EPERM,
	   "nor is root one of the user's processes");
	shared->stop = true;
	waitpid(maker, NULL, 0);
	close(handle);
}

/* Root's restarts have processes of all users. */
static void users_of_root(void)
{
	int handle = make_handle(1, 1);
	pid_t pid;

	memset((void *)shared->results, 0xff, sizeof(shared->results));
	pid = fork();
	if (!pid) {
		become_user(ORDINARY);
		try_all(handle);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	judge(GATHER, CHILD);
	close(handle);
}

/* A file that has the name by which the kernel knows objects of a kind, and objects of other kinds: neither is taken for one. */
static void wrong_kinds(void)
{
	static const char *const names[] = { "[eventpoll]", "[io_uring]" };
	int handle = make_handle(1, 1), others[4], wrong_calls = 0;
	char path[64], dir[] = "/dev/shm/cryo-handle.XXXXXX";

	if (!mkdtemp(dir))
		die("mkdtemp");
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		others[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		unlink(path);
	}
	rmdir(dir);
	others[2] = eventfd(0, EFD_CLOEXEC);
	others[3] = handle;
	for (int i = 0; i < 4; i++) {
		struct cryo_epoll_disarm disarm = { .size = sizeof(disarm), .epoll_fd = others[i], .target_fd = others[2],
						    .fd = others[2] };
		struct cryo_uring_counters ring = { .size = sizeof(ring), .fd = others[i] };
		void *at = mmap(NULL, page, PROT_READ, MAP_SHARED, handle, (off_t)others[i] << CRYO_URING_FD_SHIFT);

		wrong_calls += at != MAP_FAILED || errno != EINVAL;
		wrong_calls += ioctl(handle, CRYO_RST_EPOLL_DISARM, &disarm) != -1 || errno != EINVAL;
		wrong_calls += ioctl(handle, CRYO_RST_URING, &ring) != -1 || errno != EINVAL;
	}
	ok(!wrong_calls, "objects of other kinds, and files that have the name of one, are refused");
	for (int i = 0; i < 4; i++)
		close(others[i]);
}

/* The same of a file that can tell of itself in /proc/PID/fdinfo, as those objects do. */
static void named_device(void)
{
	int handle = make_handle(1, 1), event = eventfd(0, EFD_CLOEXEC), epoll = -1, result, error;
	char dir[] = "/dev/shm/cryo-handle.XXXXXX", path[64];
	struct cryo_epoll_disarm disarm;

	if (system("modprobe -q tun") || !mkdtemp(dir))
		dir[0] = '\0';
	snprintf(path, sizeof(path), "%s/[eventpoll]", dir);
	if (dir[0] && !mknod(path, S_IFCHR | 0600, makedev(10, 200)))
		epoll = open(path, O_RDWR | O_CLOEXEC);
	unlink(path);
	rmdir(dir);
	disarm = (struct cryo_epoll_disarm){ .size = sizeof(disarm), .epoll_fd = epoll, .target_fd = event, .fd = event };
	result = ioctl(handle, CRYO_RST_EPOLL_DISARM, &disarm);
	error = errno;
	if (epoll < 0)
		ok(true, "a device with such a name is refused # SKIP no tun");
	else if (!ok(result == -1 && error == EINVAL, "a device with such a name is refused"))
		printf("# %s\n", strerror(error));
	close(epoll);
	close(event);
	close(handle);
}

static void as_user(void (*test)(void))
{
	int report[2], counts[2], status;
	pid_t pid;

	if (pipe(report))
		die("pipe");
	pid = fork();
	if (!pid) {
		become_user(ORDINARY);
		test();
		counts[0] = tap_count;
		counts[1] = tap_bad;
		_exit(write(report[1], counts, sizeof(counts)) != sizeof(counts));
	}
	waitpid(pid, &status, 0);
	if (status || read(report[0], counts, sizeof(counts)) != sizeof(counts)) {
		ok(false, "a part of the test ends (%#x)", (unsigned int)status);
		return;
	}
	tap_count = counts[0];
	tap_bad = counts[1];
	close(report[0]);
	close(report[1]);
}

static void all_states(void)
{
	static const enum who kinds[] = { COORDINATOR, CHILD, OWN_NAMESPACE };

	for (int state = 0; state < NR_STATES; state++)
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && can_be_in((enum state)state); i++)
			in_state((enum state)state, kinds[i], true);
	for (int state = 0; state < GO; state++)
		for (int end = 0; end < NR_ENDS && can_be_in((enum state)state); end++)
			loses((enum state)state, (enum end)end);
	if (!moments_only)
		outside();
}

/* With "moments": in the states that last a moment, where the module has places to stop. */
int main(int argc, char *argv[])
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (geteuid()) {
		puts("1..0 # SKIP needs root to become other users");
		return 0;
	}
	page = (size_t)sysconf(_SC_PAGESIZE);
	shared = shared_memory(sizeof(*shared));
	stop_point = open("/sys/module/cryo/parameters/stop_point", O_RDWR | O_CLOEXEC);
	stop_pid = open("/sys/module/cryo/parameters/stop_pid", O_RDONLY | O_CLOEXEC);
	take_start(&ends, end_well);
	moments_only = argc > 1 && !strcmp(argv[1], "moments");
	if (moments_only) {
		as_user(all_states);
		return finish();
	}
	as_user(wrong_kinds);
	named_device();
	as_user(all_states);
	strangers();
	users_of_root();
	becomes_another();
	return finish();
}
