/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * calls.h - each call of a descriptor by who has made it and by others to whom he has passed it, twice and by two threads at once
 *
 * A program that uses this has try_call() and call_names[], and calls begin() as root.
 */
#ifndef CALLS_H
#define CALLS_H

#include "restarting.h"

#include <cryo/client.h>
#include <poll.h>

/* ---- who calls ---- */

enum who { MAKER, CHILD, OWN_NAMESPACE, OTHER_USER, ROOT, NR_WHO };

static const char *const who_names[] = { "who made it", "another process of his", "one in a user namespace of his own",
					 "another user", "root" };

/*
 * What comes of a call: 0, an errno value; of a vote, that there is no checkpoint (and why), or that it was a restart; of
 * CRYO_CKPT_PARENT, that there is an account of what has been written since.
 */
#define NO_CHECKPOINT	1000
#define WAS_RESTARTED	900
#define IS_STUCK	901
#define IS_TRACKED	902

static int try_call(int fd, int call);
static const char *const call_names[];

static pid_t target;		/* the maker's */
static int dev;			/* the same */

/* ---- servants: a process of each kind, to which descriptors are passed ---- */

struct order {
	int call;
	bool at_once;			/* two threads, not one after the other */
	bool waits;			/* for what does not come: it is to be interrupted */
};

struct caller {
	pthread_t thread;
	int fd, result;
	int call;
};

static void no_handler(int signal)
{
	(void)signal;
}

static void *caller(void *arg)
{
	struct caller *c = arg;

	c->result = try_call(c->fd, c->call);
	return NULL;
}

static void start_caller(struct caller *c, int fd, int call)
{
	c->fd = fd;
	c->call = call;
	if (pthread_create(&c->thread, NULL, caller, c))
		die("pthread_create");
}

/* A call that waits is interrupted after a while, one that should not have waited after a very long one. */
static void finish_caller(struct caller *c, bool waits)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	if (waits)
		until.tv_nsec += 60000000;
	else
		until.tv_sec += 20 * factor();
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	if (!pthread_timedjoin_np(c->thread, NULL, &until))
		return;
	do {
		pthread_kill(c->thread, SIGUSR1);
		sleep_ms(5);
	} while (pthread_tryjoin_np(c->thread, NULL));
	if (!waits)
		c->result = IS_STUCK;
}

static void carry_out(int fd, const struct order *order, int results[2])
{
	struct caller callers[2];

	start_caller(&callers[0], fd, order->call);
	if (!order->at_once)
		finish_caller(&callers[0], order->waits);
	start_caller(&callers[1], fd, order->call);
	if (order->at_once)
		finish_caller(&callers[0], order->waits);
	finish_caller(&callers[1], order->waits);
	for (int i = 0; i < 2; i++)
		results[i] = callers[i].result;
}

static int servants[NR_WHO];

static void serve(int at)
{
	struct order order;
	int results[2], fd;

	while (read(at, &target, sizeof(target)) == sizeof(target) && read(at, &order, sizeof(order)) == sizeof(order)) {
		fd = receive_fd(at);
		carry_out(fd, &order, results);
		close(fd);
		if (write(at, results, sizeof(results)) != sizeof(results))
			_exit(1);
	}
	_exit(0);
}

/* By root. */
static void start_servant(enum who who)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		die("socketpair");
	if (!fork()) {
		close(pair[0]);
		for (int i = 0; i < (int)who; i++)
			close(servants[i]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (who == CHILD || who == OWN_NAMESPACE)
			become_user(ORDINARY);
		if (who == OWN_NAMESPACE && unshare(CLONE_NEWUSER))
			die("unshare(CLONE_NEWUSER)");
		if (who == OTHER_USER)
			become_user(ORDINARY + 1);
		serve(pair[1]);
	}
	close(pair[1]);
	servants[who] = pair[0];
}

static void send_order(enum who who, int fd, const struct order *order)
{
	if (write(servants[who], &target, sizeof(target)) < 0 || write(servants[who], order, sizeof(*order)) < 0)
		die("write");
	send_fd(servants[who], fd);
}

static void take_results(enum who who, int results[2])
{
	if (read(servants[who], results, 2 * sizeof(int)) != 2 * sizeof(int))
		die("a servant");
}

static void let_call(enum who who, int fd, const struct order *order, int results[2])
{
	if (who == MAKER) {
		carry_out(fd, order, results);
		return;
	}
	send_order(who, fd, order);
	take_results(who, results);
}

/* ---- the verdict ---- */

static int wrong;

static const char *say(int result)
{
	if (result == WAS_RESTARTED)
		return "a restart";
	if (result == IS_STUCK)
		return "does not end";
	if (result == IS_TRACKED)
		return "an account";
	if (result >= NO_CHECKPOINT)
		return "no checkpoint";
	return result ? strerrorname_np(result) : "success";
}

static void complain(const char *state, int call, const char *how, int got, int wanted)
{
	wrong++;
	printf("# %s, %s, %s: %s (%d), not %s (%d)\n", state, call_names[call], how, say(got), got, say(wanted), wanted);
}

static void compare(const char *state, const struct order *order, const int got[2], const int wanted[2])
{
	/* Of two at once, either may be the first. */
	if (order->at_once && got[0] == wanted[1] && got[1] == wanted[0])
		return;
	for (int i = 0; i < 2; i++)
		if (got[i] != wanted[i])
			complain(state, order->call, order->at_once ? "at once" : i ? "again" : "first", got[i], wanted[i]);
}

static void judge(const char *what, const char *state, enum who who)
{
	ok(!wrong, "%s, %s: %s", what, state, who_names[who]);
	wrong = 0;
}

/* ---- */

static int make_request(pid_t of, unsigned int flags, int out_fd)
{
	struct cryo_checkpoint args = { .size = sizeof(args), .target = of, .flags = flags, .out_fd = out_fd };
	int fd = ioctl(dev, CRYO_IOC_CHECKPOINT, &args);

	if (fd < 0)
		die("CRYO_IOC_CHECKPOINT");
	return fd;
}

static void end_servants(void)
{
	for (int who = CHILD; who < NR_WHO; who++)
		close(servants[who]);
}

/* Root starts those who serve, and is the maker then. */
static void begin(void)
{
	struct sigaction action = { .sa_handler = no_handler };

	sigaction(SIGUSR1, &action, NULL);
	for (int who = CHILD; who < NR_WHO; who++)
		start_servant((enum who)who);
	become_user(ORDINARY);
	dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	if (dev < 0)
		die(CRYO_DEVICE_PATH);
}

#endif /* CALLS_H */
