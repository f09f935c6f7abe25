// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bounds that are reached: one user's registrations keep nobody else from registering, whatever user namespaces he makes; a restart
 * does not wait for a main thread without end; and of a log that is full, how many lines are missing.
 */
#include "restarting.h"

#include <cryo/client.h>
#include <sys/socket.h>
#include <sys/resource.h>

#define OTHER		(ORDINARY + 1)
#define PIPES		6000

static int new_client(void)
{
	struct cryo_client args = { .size = sizeof(args) };
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), fd = ioctl(dev, CRYO_IOC_CLIENT, &args);

	close(dev);
	return fd;
}

static void become_if_needed(uid_t uid)
{
	if (uid)
		become_user(uid);
}

/* Of a handle of an id of many that @uid has in a user namespace, which root has given him (newuidmap(1)): 0, or an errno value. */
static int one_of_many_ids(uid_t uid)
{
	int made[2], mapped[2], status;
	char path[64], text[64], byte = 0;
	pid_t pid;

	if (pipe(made) || pipe(mapped))
		die("pipe");
	pid = fork();
	if (!pid) {
		become_if_needed(uid);
		if (unshare(CLONE_NEWUSER) || write(made[1], &byte, 1) != 1 || read(mapped[0], &byte, 1) != 1 || setresuid(1, 1, 1))
			die("user namespace");
		_exit(new_client() < 0 ? errno : 0);
	}
	if (read(made[0], &byte, 1) != 1)
		die("user namespace");
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	snprintf(text, sizeof(text), "0 %u 1\n1 100000 1000\n", uid);
	put_text(path, text);
	if (write(mapped[1], &byte, 1) != 1)
		die("write");
	waitpid(pid, &status, 0);
	close(made[0]);
	close(made[1]);
	close(mapped[0]);
	close(mapped[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 254;
}

/* Of one more handle of @uid's: 0, or an errno value. */
static int one_more(uid_t uid, bool in_namespace)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		become_if_needed(uid);
		if (in_namespace && unshare(CLONE_NEWUSER))
			die("unshare(CLONE_NEWUSER)");
		_exit(new_client() < 0 ? errno : 0);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 254;
}

/* As many as one process may have, in a process that keeps them. */
static pid_t keeper(int told)
{
	pid_t pid = fork();
	char good = 1;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < CRYO_MAX_CLIENTS; i++)
		good = good && new_client() >= 0;
	if (write(told, &good, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* All that a user may have; the processes, of which one can be killed, are children of the one that is returned. */
static pid_t take_all(pid_t *first)
{
	const int count = CRYO_MAX_USER_CLIENTS / CRYO_MAX_CLIENTS;
	int told[2], got = 0;
	pid_t *shared_first = shared_memory(sizeof(*shared_first)), pid;
	char good;

	if (pipe(told))
		die("pipe");
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		become_user(ORDINARY);
		for (int i = 0; i < count; i++) {
			pid_t one = keeper(told[1]);

			if (one < 0)
				die("fork");
			if (!i)
				*shared_first = one;
		}
		for (;;)
			pause();
	}
	close(told[1]);
	for (int i = 0; i < count && read(told[0], &good, 1) == 1; i++)
		got += good;
	close(told[0]);
	ok(got == count, "a user has %d registrations", got * CRYO_MAX_CLIENTS);
	*first = *shared_first;
	return pid;
}

static void registrations(void)
{
	pid_t first, all = take_all(&first);

	is_error(one_more(ORDINARY, false), ENOSPC, "... and no more");
	is_error(one_more(ORDINARY, true), ENOSPC, "... nor in a user namespace of his own");
	is_error(one_of_many_ids(ORDINARY), ENOSPC, "... nor with another of his ids there");
	is_error(one_more(OTHER, false), 0, "another user may have some");
	is_error(one_more(OTHER, true), 0, "... in a user namespace, too");
	is_error(one_more(0, false), 0, "... and root");
	kill(first, SIGKILL);
	for (unsigned int i = 0; i < 200 * factor() && one_more(ORDINARY, false); i++)
		sleep_ms(50);
	is_error(one_more(ORDINARY, false), 0, "the end of a process gives back what it had");
	kill(all, SIGKILL);
	waitpid(all, NULL, 0);
}

/* Each of which is an obstacle, as its other end is not in the process. */
static pid_t with_pipes(void)
{
	static int writers[PIPES];
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready))
		die("pipe");
	for (int i = 0; i < PIPES; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			die("socketpair");
		writers[i] = ends[1];
	}
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < PIPES; i++)
			close(writers[i]);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	if (read(ready[0], &byte, 1) != 1)
		die("read");
	return pid;
}

static struct start here;
static int handle;

static void go_on(void)
{
	_exit(0);
}

static void *resume_as_leader(void *unused)
{
	struct cryo_regset set;
	struct cryo_resume args = resume_args(&here, &set);

	resume(handle, &args);
	return unused;
}

/* A thread that is to have its process to itself waits for the main thread's end, which does not come. */
static void main_thread_stays(void)
{
	char text[4096] = "";
	pthread_t thread;
	pid_t pid;
	int err;

	take_start(&here, go_on);
	handle = make_handle(1, 1);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&thread, NULL, resume_as_leader, NULL);
		for (;;)
			pause();
	}
	err = commit(handle, 10000);
	if (read(handle, text, sizeof(text) - 1) < 0)
		die("read");
	ok(err == ETIMEDOUT && strstr(text, "waiting for its main thread to exit"),
	   "a main thread that does not end is not waited for without end: %s", strerrorname_np(err));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(handle);
}

static void full_log(void)
{
	struct rlimit many = { 2 * PIPES + 1000, 2 * PIPES + 1000 };
	struct cryo_checkpoint args = { .size = sizeof(args), .flags = CRYO_CKPT_DRY_RUN };
	size_t size = 4 << 20, used = 0;
	char *text = calloc(1, size + 1), *line;
	unsigned int lines = 0, lost = 0;
	int dev, handle, err;
	ssize_t n;

	if (setrlimit(RLIMIT_NOFILE, &many) || !text)
		die("RLIMIT_NOFILE");
	args.target = with_pipes();
	dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	handle = ioctl(dev, CRYO_IOC_CHECKPOINT, &args);
	err = ioctl(handle, CRYO_CKPT_RUN) ? errno : 0;
	is_error(err, EOPNOTSUPP, "a process with more obstacles than the log has room for");
	while (used < size && (n = read(handle, text + used, size - used)) > 0)
		used += (size_t)n;
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (sscanf(line, "%u more lines did not fit here", &lost) != 1)
			lines += !!strstr(line, "fd ");
		else
			ok(!strtok(NULL, "\n"), "the last line says that lines are missing");
	}
	ok(lines && lines < PIPES && lines + lost >= PIPES && lines + lost < PIPES + 16, "... and how many: %u are there, %u are not",
	   lines, lost);
	kill(args.target, SIGKILL);
	waitpid(args.target, NULL, 0);
	free(text);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (geteuid()) {
		puts("1..0 # SKIP needs root to become other users");
		return 0;
	}
	registrations();
	main_thread_stays();
	full_log();
	return finish();
}
