// SPDX-License-Identifier: GPL-2.0-only
/*
 * All registers of regs_arch.h hold patterns while threads are asleep in system calls of each kind that a stop ends in
 * another way: made again as they were, made again with what remains of the time, made again unless a handler ran,
 * or ended by EINTR and made again by the module.
 */
#define _GNU_SOURCE
#include "regs.h"
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#define TIMEOUT_MS 3000

struct blocked {
	struct regs_thread regs;
	const struct kind *kind;
	volatile pid_t tid;
	volatile bool ended;
	int pair[2];
	uint32_t word;
	union {
		struct pollfd poll;
		fd_set set;
		struct epoll_event event;
		struct timespec time;
		sigset_t mask;
		char byte;
	};
};

struct kind {
	const char *name;
	long number;
	void (*prepare)(struct blocked *b, unsigned long args[6]);
	void (*wake)(struct blocked *b);	/* NULL: its time ends it */
	long result;
};

static void wake_pair(struct blocked *b)
{
	CRT_SYS(write(b->pair[1], "x", 1));
}

static void prepare_read(struct blocked *b, unsigned long args[6])
{
	args[0] = (unsigned long)b->pair[0];
	args[1] = (unsigned long)&b->byte;
	args[2] = 1;
}

static void prepare_poll(struct blocked *b, unsigned long args[6])
{
	b->poll = (struct pollfd){ .fd = b->pair[0], .events = POLLIN };
	args[0] = (unsigned long)&b->poll;
	args[1] = 1;
	args[4] = 8;
}

static void prepare_select(struct blocked *b, unsigned long args[6])
{
	FD_ZERO(&b->set);
	FD_SET(b->pair[0], &b->set);
	args[0] = (unsigned long)b->pair[0] + 1;
	args[1] = (unsigned long)&b->set;
}

static void prepare_epoll(struct blocked *b, unsigned long args[6])
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = (int)CRT_SYS(epoll_create1(EPOLL_CLOEXEC));

	CRT_SYS(epoll_ctl(fd, EPOLL_CTL_ADD, b->pair[0], &event));
	args[0] = (unsigned long)fd;
	args[1] = (unsigned long)&b->event;
	args[2] = 1;
	args[3] = -1UL;
	args[5] = 8;
}

static void prepare_futex(struct blocked *b, unsigned long args[6])
{
	args[0] = (unsigned long)&b->word;
	args[1] = FUTEX_WAIT_PRIVATE;
}

static void wake_futex(struct blocked *b)
{
	b->word = 1;
	CRT_SYS(syscall(SYS_futex, &b->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
}

static void prepare_timed_futex(struct blocked *b, unsigned long args[6])
{
	prepare_futex(b, args);
	b->time = (struct timespec){ .tv_sec = TIMEOUT_MS / 1000, .tv_nsec = TIMEOUT_MS % 1000 * 1000000L };
	args[3] = (unsigned long)&b->time;
}

static void prepare_sleep(struct blocked *b, unsigned long args[6])
{
	b->time = (struct timespec){ .tv_sec = TIMEOUT_MS / 1000, .tv_nsec = TIMEOUT_MS % 1000 * 1000000L };
	args[0] = (unsigned long)&b->time;
}

static void prepare_suspend(struct blocked *b, unsigned long args[6])
{
	sigemptyset(&b->mask);
	args[0] = (unsigned long)&b->mask;
	args[1] = 8;
}

static void wake_suspend(struct blocked *b)
{
	pthread_kill(b->regs.thread, SIGUSR1);
}

static void prepare_wait(struct blocked *b, unsigned long args[6])
{
	sigemptyset(&b->mask);
	sigaddset(&b->mask, SIGUSR2);
	args[0] = (unsigned long)&b->mask;
	args[3] = 8;
}

static void wake_wait(struct blocked *b)
{
	pthread_kill(b->regs.thread, SIGUSR2);
}

static const struct kind kinds[] = {
	{ "read", SYS_read, prepare_read, wake_pair, 1 },
	{ "recvfrom", SYS_recvfrom, prepare_read, wake_pair, 1 },
	{ "ppoll", SYS_ppoll, prepare_poll, wake_pair, 1 },
	{ "pselect", SYS_pselect6, prepare_select, wake_pair, 1 },
	{ "epoll_pwait", SYS_epoll_pwait, prepare_epoll, wake_pair, 1 },
	{ "futex", SYS_futex, prepare_futex, wake_futex, 0 },
	{ "futex with a timeout", SYS_futex, prepare_timed_futex, NULL, -ETIMEDOUT },
	{ "nanosleep", SYS_nanosleep, prepare_sleep, NULL, 0 },
	{ "sigsuspend", SYS_rt_sigsuspend, prepare_suspend, wake_suspend, -EINTR },
	{ "sigtimedwait", SYS_rt_sigtimedwait, prepare_wait, wake_wait, SIGUSR2 },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct blocked threads[KINDS * REGS_WAYS];

static void on_signal(int sig)
{
	(void)sig;
}

static void *run(void *arg)
{
	struct blocked *b = arg;

	b->tid = gettid();
	regs_call(&b->regs);
	b->ended = true;
	return NULL;
}

/* Asleep, in this call: else it says "running", or that of another one. */
static bool is_blocked(const struct blocked *b)
{
	char path[64], text[256];

	if (!b->tid)
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", b->tid);
	crt_slurp(path, text, sizeof(text));
	return text[0] >= '0' && text[0] <= '9' && strtol(text, NULL, 10) == b->kind->number;
}

static void setup(void)
{
	struct sigaction act = { .sa_handler = on_signal };
	sigset_t mask;

	CRT_SYS(sigaction(SIGUSR1, &act, NULL));
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigaddset(&mask, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	for (unsigned int i = 0; i < KINDS * regs_ways(); i++) {
		struct blocked *b = &threads[i];
		unsigned long args[6] = { 0 };

		b->kind = &kinds[i % KINDS];
		CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, b->pair));
		b->kind->prepare(b, args);
		regs_fill(&b->regs.in, 171 + i);
		regs_set_call(&b->regs.in, b->kind->number, args);
		regs_set_way(&b->regs.in, i / KINDS);
		CRT_SYS(-pthread_create(&b->regs.thread, NULL, run, b));
	}
	for (unsigned int i = 0; i < KINDS * regs_ways(); i++)
		while (!threads[i].ended && !is_blocked(&threads[i]))
			crt_sleep_ms(1);
}

static void verify(void)
{
	for (unsigned int i = 0; i < KINDS * regs_ways(); i++) {
		struct blocked *b = &threads[i];
		char who[64];

		if (b->kind->wake)
			b->kind->wake(b);
		pthread_join(b->regs.thread, NULL);
		snprintf(who, sizeof(who), "%s%s", b->kind->name, regs_way(&b->regs.in));
		crt_same(regs_result(&b->regs.out), b->kind->result, "%s: result", who);
		regs_verify(&b->regs.in, &b->regs.out, true, who);
	}
}

const struct crt_test crt_test = {
	.text = "general, vector and control registers of threads in system calls",
	.setup = setup,
	.verify = verify,
};
