// SPDX-License-Identifier: GPL-2.0-only
/*
 * As many scopes as a participant may add, among many processes: the last one takes no longer than the first, trees of
 * processes are found whole whatever their numbers are, and a checkpoint is killed in the middle of it.
 */
#include "restarting.h"

#include <cryo/client.h>

#define OTHERS 1200		/* processes that are in no scope */
#define DEEP 300		/* processes each of which is the child of the one before */
#define SAMPLE (CRYO_MAX_FORWARDS / 4)	/* of the first and of the last calls: a busy machine does not slow down a quarter of all */

static struct shared {
	volatile bool registered, done;
	volatile int added, error;
	volatile double first, last;	/* seconds that a call took, the fastest of some */
} *shared;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void sleep_for_ever(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* The caller adds @target's @scope @times, when a checkpoint asks. */
static void take_part(pid_t target, unsigned int scope, int times)
{
	struct cryo_client args = { .size = sizeof(args) };
	struct cryo_client_request request = { .size = sizeof(request) };
	struct cryo_client_forward forward = { .size = sizeof(forward), .scope = scope, .target = target };
	struct cryo_client_vote vote = { .size = sizeof(vote) };
	int fd = ioctl(open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), CRYO_IOC_CLIENT, &args);

	if (fd < 0)
		die("CRYO_IOC_CLIENT");
	shared->registered = true;
	if (ioctl(fd, CRYO_CLIENT_WAIT, &request))
		die("CRYO_CLIENT_WAIT");
	for (int i = 0; i < times; i++) {
		double begin = seconds(), took;

		if (ioctl(fd, CRYO_CLIENT_FORWARD, &forward)) {
			shared->error = errno;
			break;
		}
		took = seconds() - begin;
		shared->added++;
		if (i && i < SAMPLE && took < shared->first)
			shared->first = took;
		if (i >= times - SAMPLE && took < shared->last)
			shared->last = took;
	}
	shared->done = true;
	ioctl(fd, CRYO_CLIENT_VOTE, &vote);
	/* The request ends when its participants have come back for the next one. */
	for (;;)
		ioctl(fd, CRYO_CLIENT_WAIT, &request);
}

/* 0 in the participant itself, which leads a group. */
static pid_t fork_participant(void)
{
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	shared->first = shared->last = 1000;
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid) {
		while (!shared->registered)
			sleep_ms(5);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	return 0;
}

static pid_t participant(pid_t target, unsigned int scope, int times)
{
	pid_t pid = fork_participant();

	if (!pid)
		take_part(target, scope, times);
	return pid;
}

/* A user's, who adds its own tree, in which there is a process of root's in a session of its own. */
static pid_t users_participant(void)
{
	pid_t pid = fork_participant(), of_root;

	if (pid)
		return pid;
	of_root = fork();
	if (of_root < 0)
		die("fork");
	if (!of_root) {
		setsid();
		sleep_for_ever();
	}
	while (getsid(of_root) != of_root)
		sleep_ms(1);
	become_user(ORDINARY);
	take_part(getpid(), CRYO_SCOPE_TREE, 1);
	return 0;
}

#define BELOW 4			/* processes below that participant, each the child of the one before, by turns in its group and not */

/* It adds its own tree, some of which are in its group, and so in the scope, already. */
static pid_t participant_with_group(void)
{
	pid_t pid = fork_participant(), group = getpid();
	int ready[2];
	char c;

	if (pid)
		return pid;
	if (pipe(ready))
		die("pipe");
	for (int i = 0; i < BELOW; i++) {
		pid = fork();
		if (pid < 0)
			die("fork");
		if (pid)
			break;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setpgid(0, i % 2 ? 0 : group))
			die("setpgid");
		if (i == BELOW - 1 && write(ready[1], "", 1) != 1)
			die("write");
	}
	if (getpid() != group)
		sleep_for_ever();
	if (read(ready[0], &c, 1) != 1)
		die("read");
	take_part(group, CRYO_SCOPE_TREE, 1);
	return 0;
}

/* A request about @scope of @target, to say what is in the way; how many processes it had, or -errno. */
static int dry_run_of(pid_t target, unsigned int scope)
{
	struct cryo_checkpoint c = { .size = sizeof(c), .flags = CRYO_CKPT_DRY_RUN, .target = target, .scope = scope };
	struct cryo_ckpt_status status = { .size = sizeof(status) };
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), fd = ioctl(dev, CRYO_IOC_CHECKPOINT, &c), err;

	if (fd < 0)
		die("CRYO_IOC_CHECKPOINT");
	/* Processes of a request are no more when it is over: this is how many it had told. */
	err = ioctl(fd, CRYO_CKPT_RUN) ? errno : 0;
	if (err)
		show_log(fd);
	ioctl(fd, CRYO_CKPT_STATUS, &status);
	close(fd);
	close(dev);
	return err ? -err : (int)status.threads;
}

static int dry_run(pid_t target)
{
	return dry_run_of(target, CRYO_SCOPE_PROCESS);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The first of a chain of processes, when the last one is there. */
static pid_t chain(void)
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready))
		die("pipe");
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 1; i < DEEP; i++) {
			pid = fork();
			if (pid < 0)
				die("fork");
			if (pid)
				sleep_for_ever();
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		}
		if (write(ready[1], "", 1) != 1)
			die("write");
		sleep_for_ever();
	}
	if (read(ready[0], &c, 1) != 1)
		die("read");
	close(ready[0]);
	close(ready[1]);
	return pid;
}

#define PARAMETERS "/sys/module/cryo/parameters/"

static bool somebody_stopped(void)
{
	char text[16] = "";
	int fd = open(PARAMETERS "stop_pid", O_RDONLY | O_CLOEXEC);
	bool stopped = fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && atoi(text);

	close(fd);
	return stopped;
}

static void stop_at(const char *point)
{
	int fd = open(PARAMETERS "stop_point", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, point, strlen(point)) < 0)
		die("stop_point");
	close(fd);
}

/* Where the module has places to die: a scope that is added when the request does not take any more, and participants are not told yet. */
static int late(void)
{
	struct cryo_client_forward forward = { .size = sizeof(forward), .scope = CRYO_SCOPE_TREE };
	struct cryo_client_request request = { .size = sizeof(request) };
	struct cryo_client args = { .size = sizeof(args) };
	pid_t pid = fork_participant(), tool;

	if (!pid) {
		int fd = ioctl(open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), CRYO_IOC_CLIENT, &args);

		shared->registered = true;
		if (fd < 0 || ioctl(fd, CRYO_CLIENT_WAIT, &request))
			die("CRYO_CLIENT_WAIT");
		while (!somebody_stopped())
			sleep_ms(5);
		forward.target = getpid();
		shared->error = ioctl(fd, CRYO_CLIENT_FORWARD, &forward) ? errno : 0;
		shared->done = true;
		sleep_for_ever();
	}
	stop_at("dropped\n");
	tool = fork();
	if (!tool) {
		struct cryo_checkpoint c = { .size = sizeof(c), .flags = CRYO_CKPT_DRY_RUN, .target = pid, .timeout_ms = 500 };

		_exit(ioctl(ioctl(open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), CRYO_IOC_CHECKPOINT, &c), CRYO_CKPT_RUN) ? 0 : 1);
	}
	for (unsigned int n = 0; !shared->done && n < 2000 * factor(); n++)
		sleep_ms(5);
	ok(shared->done && shared->error == ECANCELED, "a scope that comes when the request is over is refused at once (%d)", shared->error);
	stop_at("\n");
	end(tool);
	end(pid);
	return finish();
}

int main(int argc, char **argv)
{
	pid_t group, pid, tool, deep;
	int status, n;

	shared = shared_memory(sizeof(*shared));
	if (argc == 2 && !strcmp(argv[1], "late"))
		return late();
	for (int i = 0; i < OTHERS; i++) {
		pid = fork();
		if (pid < 0)
			die("fork");
		if (!pid)
			sleep_for_ever();
	}
	group = fork();
	if (!group) {
		setpgid(0, 0);
		sleep_for_ever();
	}
	setpgid(group, group);

	pid = participant(group, CRYO_SCOPE_PGRP, CRYO_MAX_FORWARDS);
	n = dry_run(pid);
	ok(shared->added == CRYO_MAX_FORWARDS && n == 2, "%d scopes are added, %d threads found", shared->added, n);
	printf("# a scope took %.2f ms at first, %.2f ms at last\n", 1e3 * shared->first, 1e3 * shared->last);
	ok(shared->last < 3 * shared->first, "the last ones take no longer than the first");
	end(pid);

	pid = participant(group, CRYO_SCOPE_PGRP, CRYO_MAX_FORWARDS + 1);
	dry_run(pid);
	ok(shared->added == CRYO_MAX_FORWARDS && shared->error == ENOSPC, "there are not more");
	end(pid);

	pid = participant(group, CRYO_SCOPE_SESSION, CRYO_MAX_FORWARDS);
	tool = fork();
	if (!tool) {
		/* As the requester is left out. */
		setsid();
		dry_run(pid);
		_exit(0);
	}
	while (shared->added < 2 && !shared->done)
		sleep_ms(5);
	kill(tool, SIGKILL);
	for (n = 0; n < 500 && !waitpid(tool, &status, WNOHANG); n++)
		sleep_ms(20);
	ok(n < 500, "a checkpoint is killed in the middle");
	end(pid);

	deep = chain();
	pid = participant(deep, CRYO_SCOPE_TREE, 1);
	n = dry_run(pid);
	ok(n == DEEP + 1, "a tree of %d processes, one below the other, is found (%d)", DEEP, n - 1);
	end(pid);
	end(deep);
	end(group);

	/* Though the request is root's, and the participant in it already. */
	pid = users_participant();
	n = dry_run_of(pid, CRYO_SCOPE_PGRP);
	ok(n == -EPERM && shared->error == EPERM, "a user adds no process of root's, be it a child of his (%d)", n);
	end(pid);

	pid = participant_with_group();
	n = dry_run_of(pid, CRYO_SCOPE_PGRP);
	ok(n == BELOW + 1, "a tree some of which are in the scope already is found whole (%d of %d)", n, BELOW + 1);
	end(pid);
	return finish();
}
