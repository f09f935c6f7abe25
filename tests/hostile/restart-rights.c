// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a restart must not give: filters of seccomp that the caller may not have, registers of a program that
 * has gone on, and a working directory of one that executes another.
 */
#include "restarting.h"

#include <cryo/client.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ipc.h>
#include <sys/sem.h>

/* What all processes of one case tell each other. */
static struct shared {
	int results[4];			/* -1: nothing yet */
	int seccomp[4];			/* PR_GET_SECCOMP then */
	int calls;			/* of the function in which a member goes on */
	bool ready, go;
	int ended;
} *shared;

static void begin(void)
{
	memset(shared, 0, sizeof(*shared));
	for (int i = 0; i < 4; i++)
		shared->results[i] = shared->seccomp[i] = -1;
}

static void await(volatile bool *what)
{
	for (unsigned int i = 0; i < 10000 * factor() && !*what; i++)
		sleep_ms(1);
	if (!*what)
		die("nobody comes");
}

static int wait_for(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return status;
}

/* As wait_for(), of one that may have got a place where it should not, and waits for a commit then. */
static int wait_at_most(pid_t pid)
{
	for (unsigned int i = 0; i < 3000 * factor(); i++) {
		int status;

		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		sleep_ms(1);
	}
	kill(pid, SIGKILL);
	return wait_for(pid);
}

/* ---- seccomp ---- */

static struct sock_filter allow_all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
static struct sock_filter no_filter[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0) };	/* returns nothing */
static struct sock_fprog good_program = { 1, allow_all }, bad_program = { 1, no_filter };

static struct start here;

static void end_filtered(void)
{
	shared->seccomp[0] = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
	_exit(0);
}

/* The caller resumes with filters: @second is NULL or comes after the good one. Tells how that ended if it did. */
static void resume_filtered(int handle, unsigned int slot, struct sock_fprog *second)
{
	struct cryo_seccomp_program filters[2] = { { .program = (uintptr_t)&good_program }, { .program = (uintptr_t)second } };
	struct cryo_regset set;
	struct cryo_resume args = resume_args(&here, &set);

	args.seccomp = (uintptr_t)filters;
	args.nr_seccomp = second ? 2 : 1;
	args.seccomp_mode = SECCOMP_MODE_FILTER;
	shared->results[slot] = resume(handle, &args);
	shared->seccomp[slot] = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
}

/* The handle of a user who is root in a namespace of his own, in the hands of one outside of it. */
static void maker_in_user_namespace(void)
{
	int pair[2];
	pid_t maker, pid;

	begin();
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	maker = fork();
	if (!maker) {
		int handle;

		if (unshare(CLONE_NEWUSER))
			_exit(4);
		handle = make_handle(1, 1);
		send_fd(pair[0], handle);
		await(&shared->go);
		_exit(0);
	}
	pid = fork();
	if (!pid) {
		resume_filtered(receive_fd(pair[1]), 0, NULL);
		_exit(0);
	}
	wait_at_most(pid);
	is_error(shared->results[0], EPERM, "the maker is root in a user namespace, the caller outside of it");
	ok(shared->seccomp[0] == 0, "... who has no filter then");
	shared->go = true;
	wait_for(maker);
	while (wait(NULL) > 0)
		continue;
}

static void own_handle(void)
{
	int handle = make_handle(2, 2), full = make_handle(1, 1);
	struct cryo_regset set;
	struct cryo_resume args = resume_args(&here, &set);
	pid_t pid;

	begin();
	pid = fork();
	if (!pid) {
		resume_filtered(handle, 0, NULL);
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		args.seccomp_mode = SECCOMP_MODE_FILTER;
		shared->results[1] = resume(handle, &args);
		shared->seccomp[1] = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
		_exit(0);
	}
	wait_at_most(pid);
	is_error(shared->results[0], EACCES, "a filter of a user's without no_new_privs");
	is_error(shared->results[1], EINVAL, "no filter where one is said to be");
	ok(!shared->seccomp[0] && !shared->seccomp[1], "... and no filter is there then");

	pid = fork();
	if (!pid) {
		resume(full, &args);
		_exit(0);
	}
	sleep_ms(300);
	if (!fork()) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		resume_filtered(full, 2, NULL);
		_exit(0);
	}
	for (unsigned int i = 0; i < 2000 * factor() && shared->seccomp[2] < 0; i++)
		sleep_ms(1);
	is_error(shared->results[2], EBUSY, "more threads than are wanted");
	ok(!shared->seccomp[2], "... and the one has no filter");
	close(full);
	wait_for(pid);

	pid = fork();
	if (!pid) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		resume_filtered(handle, 3, &bad_program);
		_exit(0);
	}
	ok(wait_for(pid) == SIGKILL && shared->seccomp[3] == -1, "of two filters the second is refused: the thread dies");
	show_log(handle);
	close(handle);
	while (wait(NULL) > 0)
		continue;
}

/* A member with a filter, and whatever rights @handle's maker has; the result of the commit. */
static int commit_filtered(int handle, bool new_privs)
{
	int result;
	pid_t pid = fork();

	if (!pid) {
		become_user(ORDINARY);
		if (!new_privs)
			prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		resume_filtered(handle, 1, NULL);
		_exit(0);
	}
	result = commit(handle, 10000 * factor());
	show_log(handle);
	wait_for(pid);
	return result;
}

/* Root restarts a user's process, which keeps its filter; and afterwards the handle is good for nothing. */
static void handle_of_root(void)
{
	int handle = make_handle(1, 1);

	begin();
	is_error(commit_filtered(handle, true), 0, "root restarts a user's process with a filter, without no_new_privs");
	ok(shared->seccomp[0] == SECCOMP_MODE_FILTER, "... which it has");
	begin();
	if (!fork()) {
		become_user(ORDINARY);
		resume_filtered(handle, 0, NULL);
		_exit(0);
	}
	wait(NULL);
	is_error(shared->results[0], EBUSY, "the same handle after its commit");
	ok(!shared->seccomp[0], "... gives no filter");
}

/* ---- calls in progress ---- */

/* Waits for its semaphore, which comes after the call has been interrupted and forbidden. */
static void *wait_for_semaphore(void *set)
{
	struct sembuf take = { .sem_op = -1 };
	struct timespec limit = { 20, 0 };

	shared->ready = true;
	shared->results[0] = syscall(SYS_semtimedop, (int)(intptr_t)set, &take, 1, &limit) ? errno : 0;
	return NULL;
}

static void forbid_semtimedop(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_semtimedop, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		die("seccomp");
}

static int checkpoint(pid_t pid)
{
	struct cryo_checkpoint args = { .size = sizeof(args), .out_fd = open("/dev/null", O_WRONLY | O_CLOEXEC), .target = pid };
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), handle = ioctl(dev, CRYO_IOC_CHECKPOINT, &args), result;

	if (handle < 0)
		die("CRYO_IOC_CHECKPOINT");
	result = ioctl(handle, CRYO_CKPT_RUN, 0) ? errno : 0;
	show_log(handle);
	close(handle);
	close(args.out_fd);
	close(dev);
	return result;
}

/* A filter sees a call that goes on after a checkpoint, by its own number. */
static void filtered_wait(void)
{
	int set = semget(IPC_PRIVATE, 1, 0600), failed;
	struct sembuf give = { .sem_op = 1 };
	pthread_t thread;
	pid_t pid;

	begin();
	pid = fork();
	if (!pid) {
		close_range(3, ~0U, 0);
		pthread_create(&thread, NULL, wait_for_semaphore, (void *)(intptr_t)set);
		await(&shared->ready);
		sleep_ms(500);
		forbid_semtimedop();
		shared->go = true;
		pthread_join(thread, NULL);
		_exit(0);
	}
	await(&shared->go);
	failed = checkpoint(pid);
	ok(!failed, "a process with a filter is checkpointed (%s)", strerror(failed));
	sleep_ms(500);
	semop(set, &give, 1);
	wait_for(pid);
	is_error(shared->results[0], EXDEV, "a call that goes on after a checkpoint is shown to a filter that has come meanwhile");
	ok(semctl(set, 0, GETVAL) == 1, "... and has not done what that forbids");
	semctl(set, 0, IPC_RMID);
}

/* Flags that futex(2) does not make: another size, or what nobody knows. */
static void futex_flags(void)
{
	static const uint32_t wrong[] = { 0, 0x08, 0x80, 0x41, 0x43, 0xc2, 0xff };
	int handle = make_handle(100, 100), accepted = 0;
	struct cryo_regset set;
	struct cryo_resume args = resume_args(&here, &set);

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		pid_t pid;

		begin();
		pid = fork();
		if (!pid) {
			args.restart = (struct cryo_restart_block){ .kind = CRYO_RESTART_FUTEX, .futex_bitset = ~0U,
								    .clockid = CLOCK_MONOTONIC, .futex_flags = wrong[i] };
			shared->results[0] = resume(handle, &args);
			_exit(0);
		}
		for (unsigned int wait = 0; wait < 1000 * factor() && shared->results[0] < 0; wait++)
			sleep_ms(1);
		if (shared->results[0] != EINVAL) {
			printf("# flags %#x: %d\n", wrong[i], shared->results[0]);
			accepted++;
		}
		kill(pid, SIGKILL);
		wait_for(pid);
	}
	ok(!accepted, "a wait for a futex with flags that futex(2) does not make is refused");
	close(handle);
}

/* ---- registers ---- */

static struct start vforks;

/* Waits in vfork(): in the state in which the kernel may set registers of a thread that is parked. */
static void wait_in_vfork(void)
{
	shared->calls++;
	for (int i = 0; i < 3; i++) {
		pid_t pid = vfork();

		if (!pid) {
			usleep(300000);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	_exit(42);
}

static int twice_handle;

static void *committer(void *arg)
{
	shared->results[(intptr_t)arg] = commit(twice_handle, 10000 * factor());
	return NULL;
}

static void two_commits(void)
{
	struct cryo_regset set;
	struct cryo_resume args = resume_args(&vforks, &set);
	pthread_t threads[2];
	int status, *results = shared->results;
	pid_t pid;

	begin();
	twice_handle = make_handle(1, 1);
	pid = fork();
	if (!pid) {
		sleep_ms(1500);		/* both wait for it */
		resume(twice_handle, &args);
		_exit(98);
	}
	for (intptr_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, committer, (void *)i);
	status = wait_for(pid);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	if (!ok((results[0] == 0 && results[1] == EBUSY) || (results[0] == EBUSY && results[1] == 0),
		"of two commits one works, and the other one finds the handle in use"))
		printf("# %s, %s\n", strerror(results[0]), strerror(results[1]));
	if (!ok(shared->calls == 1 && WIFEXITED(status) && WEXITSTATUS(status) == 42,
		"a member that waits in vfork() afterwards keeps its registers"))
		printf("# it began %d times, and ended with %#x\n", shared->calls, (unsigned int)status);
	close(twice_handle);
}

/* ---- a commit for which nobody comes ---- */

/* More than an int holds: not for ever. */
#define LONG_MS	3000000000U

static void *wait_long(void *result)
{
	*(int *)result = commit(twice_handle, LONG_MS);
	return NULL;
}

/* What the log says of a commit that is to wait so long, until it is given up. */
static void patience(bool bounded)
{
	char text[256] = "";
	pthread_t thread;
	int result = 0;

	twice_handle = make_handle(1, 1);
	pthread_create(&thread, NULL, wait_long, &result);
	for (unsigned int i = 0; i < (bounded ? 500 : 50) * factor() && !*text; i++) {
		sleep_ms(10);
		if (read(twice_handle, text, sizeof(text) - 1) < 0)
			die("the log");
	}
	ok(bounded ? strstr(text, "at most 60 s to arrive: more requires CAP_SYS_ADMIN") != NULL : !*text,
	   "%s waits for %s", bounded ? "a user's commit" : "root's", bounded ? "a minute at most" : "as long as it is to");
	close(twice_handle);
	pthread_join(thread, NULL);
	is_error(result, ESRCH, "... and ends when the handle is closed");
}

static void patience_of_user(void)
{
	patience(true);
}

/* ---- tables ---- */

static struct start idles;
static char directory[] = "/tmp/restart-rights.XXXXXX";
static char script[64], interpreter[64];

static void end_well(void)
{
	_exit(42);
}

static void *execute(void *arg)
{
	shared->ready = true;
	execl(script, script, NULL);
	die("execl");
	return arg;
}

static void *stay(void *arg)
{
	for (;;)
		pause();
	return arg;
}

enum owner { ALONE, EXECUTES, HAS_THREAD };

/* A member whose process owns the tables; a second thread of it may execute a program meanwhile, or could. */
static void own_tables(int handle, enum owner owner)
{
	struct cryo_regset set;
	struct cryo_resume args = resume_args(&idles, &set);
	pthread_t thread;

	args.flags |= CRYO_RESUME_OWNS_FS;
	args.fs_of = 1;
	if (owner == HAS_THREAD)
		pthread_create(&thread, NULL, stay, NULL);
	if (owner == EXECUTES) {
		pthread_create(&thread, NULL, execute, NULL);
		await(&shared->ready);
		sleep_ms(500);
	}
	shared->results[0] = resume(handle, &args);
	_exit(98);
}

enum taker { SAME, OTHER_USER_NAMESPACE, OTHER_MOUNT_NAMESPACE, OTHER_GROUP, OTHER_BITS };

static void take_fs(int handle, enum taker kind)
{
	struct cryo_regset set;
	struct cryo_resume args = resume_args(&idles, &set);

	if (kind == OTHER_USER_NAMESPACE && unshare(CLONE_NEWUSER))
		die("unshare(CLONE_NEWUSER)");
	/* What anybody may change of his credentials. */
	if (kind == OTHER_BITS && prctl(PR_SET_KEEPCAPS, 1))
		die("PR_SET_KEEPCAPS");
	args.fs_of = 1;
	shared->results[1] = resume(handle, &args);
	_exit(98);
}

/* What the commit says when a process is to have the working directory of another one. */
static int share_fs(enum taker kind, enum owner owner)
{
	int handle = make_handle(2, 2), result, ends[2];
	pid_t pids[2];

	begin();
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		if (i && kind == OTHER_MOUNT_NAMESPACE && unshare(CLONE_NEWNS))
			die("unshare(CLONE_NEWNS)");
		if (geteuid() == 0 && !i)
			become_user(ORDINARY);
		if (geteuid() == 0 && i && setresuid(ORDINARY, ORDINARY, ORDINARY))
			die("setresuid");	/* groups of root's */
		if (i)
			take_fs(handle, kind);
		own_tables(handle, owner);
	}
	result = commit(handle, 10000 * factor());
	show_log(handle);
	close(handle);
	for (int i = 0; i < 2; i++)
		ends[i] = wait_for(pids[i]);
	if (!ok(WIFSIGNALED(ends[0]) == !!result && WIFSIGNALED(ends[1]) == !!result, "... and %s",
		result ? "both are dead" : "both go on"))
		printf("# %#x, %#x\n", (unsigned int)ends[0], (unsigned int)ends[1]);
	return result;
}

static void make_executable(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

/* execve(2) waits for the interpreter of the script as long as somebody has a lease on it. */
static void while_it_executes(void)
{
	char text[128];
	int lease;

	signal(SIGIO, SIG_IGN);
	if (!mkdtemp(directory))
		die("mkdtemp");
	snprintf(script, sizeof(script), "%s/script", directory);
	snprintf(interpreter, sizeof(interpreter), "%s/interpreter", directory);
	snprintf(text, sizeof(text), "#!%s\n", interpreter);
	make_executable(script, text);
	make_executable(interpreter, "#!/bin/true\n");
	lease = open(interpreter, O_RDONLY | O_CLOEXEC);
	if (lease < 0 || fcntl(lease, F_SETLEASE, F_WRLCK))
		die("F_SETLEASE");
	is_error(share_fs(SAME, EXECUTES), EAGAIN, "a working directory of a process that executes a program");
	close(lease);
	unlink(script);
	unlink(interpreter);
	rmdir(directory);
}

/* ---- signals of a commit ---- */

static void drop_right_to_signal(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];

	if (syscall(SYS_capget, &head, caps))
		die("capget");
	caps[0].effective &= ~(1U << CAP_KILL);
	caps[0].permitted &= ~(1U << CAP_KILL);
	if (syscall(SYS_capset, &head, caps))
		die("capset");
}

/* Becomes the user, whom root may restart, and has a registration that holds its thread. */
static void resume_held(int handle, bool held)
{
	struct cryo_client client = { .size = sizeof(client), .flags = CRYO_CLIENT_RESTARTED | CRYO_CLIENT_HOLDS };
	struct cryo_regset set;
	struct cryo_resume args = resume_args(&idles, &set);
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), registration;

	become_user(ORDINARY);
	registration = held ? ioctl(dev, CRYO_IOC_CLIENT, &client) : -1;
	if (held && (registration < 0 || ioctl(registration, CRYO_CLIENT_CLAIM, 0)))
		die("CRYO_IOC_CLIENT");
	if (held)
		args.flags |= CRYO_RESUME_HELD;
	resume(handle, &args);
	_exit(98);
}

/* Root without CAP_KILL restarts a user's process: it may not signal it, not when it goes on later either. */
static void signal_without_right(bool held)
{
	struct cryo_commit args = { .size = sizeof(args), .timeout_ms = 20000 * factor(), .signal = SIGURG };
	int handle, err, status;
	pid_t pid = fork(), member;

	if (!pid) {
		drop_right_to_signal();
		handle = make_handle(1, 1);
		member = fork();
		if (!member)
			resume_held(handle, held);
		err = ioctl(handle, CRYO_RST_COMMIT, &args) ? errno : 0;
		/* Who cannot be signalled is killed by the end of the restart, if that has failed. */
		close(handle);
		if (err)
			waitpid(member, NULL, 0);
		_exit(err);
	}
	waitpid(pid, &status, 0);
	is_error(WIFEXITED(status) ? WEXITSTATUS(status) : 255, EPERM,
		 held ? "... nor one whose threads are held" : "who may not signal a member by kill(2) may not by a commit");
}

/* A registration that holds its process; whoever closes it last lets it go. */
static int last_registration;

static struct start waits_to_be_let_go;

static void become_root_and_wait(void)
{
	if (shared->calls && setresuid(0, 0, 0))
		die("setresuid");
	close(last_registration);
	shared->ready = true;
	await(&shared->go);
	_exit(42);
}

/* The user's for kill(2), and root's whenever it likes, as a set-user-ID program is. */
static void resume_between(int handle)
{
	struct cryo_regset set;
	struct cryo_resume args = resume_args(&waits_to_be_let_go, &set);

	if (setresuid(ORDINARY, ORDINARY, 0) || prctl(PR_SET_DUMPABLE, 1) || ioctl(last_registration, CRYO_CLIENT_CLAIM, 0))
		die("CRYO_CLIENT_CLAIM");
	resume(handle, &args);
	_exit(98);
}

/* In a process of its own, as the user. */
static void commit_with_signal(void)
{
	struct cryo_commit args = { .size = sizeof(args), .timeout_ms = 20000 * factor(), .signal = SIGTERM };
	int handle = make_handle(1, 1);
	pid_t member = fork();

	if (!member)
		resume_between(handle);
	close(last_registration);
	become_user(ORDINARY);
	shared->results[0] = ioctl(handle, CRYO_RST_COMMIT, &args) ? errno : 0;
	if (shared->results[0])
		show_log(handle);
	close(handle);
	waitpid(member, &shared->ended, 0);
	shared->ready = true;
	_exit(0);
}

/* A signal that comes when the process is let go has the rights of who committed the restart, also where root lets it go. */
static void signal_late(bool becomes_root)
{
	struct cryo_client client = { .size = sizeof(client), .flags = CRYO_CLIENT_RESTARTED | CRYO_CLIENT_HOLDS };
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	pid_t pid;

	begin();
	shared->calls = becomes_root;
	last_registration = ioctl(dev, CRYO_IOC_CLIENT, &client);
	if (last_registration < 0)
		die("CRYO_IOC_CLIENT");
	close(dev);
	pid = fork();
	if (!pid)
		commit_with_signal();
	await(&shared->ready);
	close(last_registration);
	shared->go = true;
	wait_for(pid);
	is_error(shared->results[0], 0, "a user commits a restart, with a signal for a process that is held");
	if (!ok(shared->ended == (becomes_root ? 42 << 8 : SIGTERM), "... root lets it go: %s",
		becomes_root ? "it is root's by then, and gets none" : "it gets the signal"))
		printf("# it ends with %#x\n", (unsigned int)shared->ended);
}

/* ---- */

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
	status = wait_for(pid);
	if (status || read(report[0], counts, sizeof(counts)) != sizeof(counts)) {
		ok(false, "a part of the test ends (%#x)", (unsigned int)status);
		return;
	}
	tap_count = counts[0];
	tap_bad = counts[1];
	close(report[0]);
	close(report[1]);
}

static void share_as_user(void)
{
	is_error(share_fs(SAME, ALONE), 0, "a working directory is shared with a process of the same user");
	is_error(share_fs(OTHER_USER_NAMESPACE, ALONE), EPERM, "not with one in another user namespace");
	is_error(share_fs(OTHER_BITS, ALONE), EPERM, "... nor with one with other credentials");
	is_error(share_fs(SAME, HAS_THREAD), EPERM, "... nor one of a process with a thread that is not restarted");
	while_it_executes();
}

static void share_as_root(void)
{
	is_error(share_fs(OTHER_GROUP, ALONE), 0, "root's restart has processes with other credentials share one");
	is_error(share_fs(OTHER_MOUNT_NAMESPACE, ALONE), EPERM, "... but none in another mount namespace");
	is_error(share_fs(OTHER_USER_NAMESPACE, ALONE), EPERM, "... nor in another user namespace");
}

/* Set by take_start(). */
static struct start tells;

static void tell_dumpable(void)
{
	_exit(40 + prctl(PR_GET_DUMPABLE));
}

/*
 * Who may not be looked into may not before it goes on, either, whatever flags it has: cr_restart's memory may be in it until then.
 */
static void dumpable(unsigned int flag, int after)
{
	int handle = make_handle(1, 1), fd;
	char path[64];
	pid_t pid = fork();

	if (!pid) {
		struct cryo_regset set;
		struct cryo_resume args = resume_args(&tells, &set);

		prctl(PR_SET_DUMPABLE, 0);
		args.flags |= flag;
		resume(handle, &args);
		_exit(98);
	}
	sleep_ms(300 * factor());
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ok(fd < 0 && errno == EACCES, "a thread that waits for the commit is not dumpable%s", flag ? ", though it is going to be" : "");
	close(fd);
	is_error(commit(handle, 20000 * factor()), 0, "... and goes on");
	ok(wait_for(pid) == (40 + after) << 8, "... %s", after ? "dumpable" : "as it was");
	close(handle);
}

static void dumpable_or_not(void)
{
	dumpable(CRYO_RESUME_DUMPABLE, 1);
	dumpable(0, 0);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (geteuid()) {
		puts("1..0 # SKIP needs root to become other users");
		return 0;
	}
	shared = shared_memory(sizeof(*shared));
	take_start(&here, end_filtered);
	take_start(&vforks, wait_in_vfork);
	take_start(&idles, end_well);
	take_start(&tells, tell_dumpable);
	take_start(&waits_to_be_let_go, become_root_and_wait);
	as_user(maker_in_user_namespace);
	as_user(own_handle);
	handle_of_root();
	as_user(filtered_wait);
	as_user(futex_flags);
	as_user(two_commits);
	as_user(patience_of_user);
	patience(false);
	signal_without_right(false);
	signal_without_right(true);
	signal_late(false);
	signal_late(true);
	as_user(share_as_user);
	as_user(dumpable_or_not);
	share_as_root();
	return finish();
}
