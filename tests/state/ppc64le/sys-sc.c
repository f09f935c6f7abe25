// SPDX-License-Identifier: GPL-2.0-only
/* Threads that sleep in calls of both instructions for them, sc and scv, which tell errors in different ways. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SCV_BIT (1UL << 20)		/* of AT_HWCAP2 */
#define KEPT 0x5eed00000000cafeUL
#define TIMEOUT_MS 2500

enum kind { READ, SELECT, SLEEP, EPOLL, SIGNAL, FUTEX, BAD, SEMAPHORE, KINDS };

static const char *const names[KINDS] = {
	"read()", "pselect6()", "nanosleep()", "epoll_pwait()", "rt_sigtimedwait()", "futex()", "close() of nothing",
	"ipc(SEMTIMEDOP)",
};
static const long expected[KINDS] = { 1, 1, 0, 0, -EAGAIN, -ETIMEDOUT, -EBADF, -EAGAIN };

struct sleeper {
	enum kind kind;
	bool vectored;
	int pipe[2], epoll, set;
	fd_set fds;
	uint32_t word;
	char byte;
	long result, kept, ms;
	pthread_t thread;
};

static struct sleeper sleepers[2 * KINDS];
static unsigned int nr;

/* The result as -errno; *kept is in a register that no call changes. */
static long call(bool vectored, const long a[7], long *kept)
{
	register long r0 __asm__("r0") = a[0];
	register long r3 __asm__("r3") = a[1];
	register long r4 __asm__("r4") = a[2];
	register long r5 __asm__("r5") = a[3];
	register long r6 __asm__("r6") = a[4];
	register long r7 __asm__("r7") = a[5];
	register long r8 __asm__("r8") = a[6];
	register long r20 __asm__("r20") = *kept;

#define REGS "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8), "+r"(r20)
#define LOST "r9", "r10", "r11", "r12", "cr0", "cr1", "cr5", "cr6", "cr7", "lr", "ctr", "xer", "memory"
	if (vectored)
		__asm__ volatile(".machine power9\nscv 0\n" : REGS : : LOST);
	else
		__asm__ volatile("sc\nbns 1f\nneg 3, 3\n1:" : REGS : : LOST);
	*kept = r20;
	return r3;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void *run(void *arg)
{
	struct sleeper *s = arg;
	struct timespec timeout = { TIMEOUT_MS / 1000, TIMEOUT_MS % 1000 * 1000000 };
	struct sembuf down = { .sem_op = -1 };
	uint64_t set = 1UL << (SIGUSR2 - 1);
	const long calls[KINDS][7] = {
		[READ] = { SYS_read, s->pipe[0], (long)&s->byte, 1 },
		[SELECT] = { SYS_pselect6, s->pipe[0] + 1, (long)&s->fds },
		[SLEEP] = { SYS_nanosleep, (long)&timeout },
		[EPOLL] = { SYS_epoll_pwait, s->epoll, (long)&(struct epoll_event){}, 1, TIMEOUT_MS },
		[SIGNAL] = { SYS_rt_sigtimedwait, (long)&set, 0, (long)&timeout, 8 },
		[FUTEX] = { SYS_futex, (long)&s->word, FUTEX_WAIT_PRIVATE, 0, (long)&timeout },
		[BAD] = { SYS_close, -1 },
		[SEMAPHORE] = { SYS_ipc, 4, s->set, 1, 0, (long)&down, (long)&timeout },
	};
	long start = now_ms();

	s->kept = (long)KEPT;
	s->result = call(s->vectored, calls[s->kind], &s->kept);
	s->ms = now_ms() - start;
	return NULL;
}

static void begin(enum kind kind, bool vectored)
{
	struct sleeper *s = &sleepers[nr++];

	s->kind = kind;
	s->vectored = vectored;
	CRT_SYS(pipe(s->pipe));
	FD_ZERO(&s->fds);
	FD_SET(s->pipe[0], &s->fds);
	s->epoll = CRT_SYS(epoll_create1(0));
	if (kind == SEMAPHORE)
		s->set = CRT_SYS(semget(IPC_PRIVATE, 1, 0600));
	CRT_SYS(-pthread_create(&s->thread, NULL, run, s));
}

static void setup(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (enum kind kind = 0; kind < KINDS; kind++) {
		begin(kind, false);
		if (getauxval(AT_HWCAP2) & SCV_BIT)
			begin(kind, true);
	}
	crt_sleep_ms(300);
}

static void verify(void)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct sleeper *s = &sleepers[i];
		const char *how = s->vectored ? "scv" : "sc";

		CRT_SYS(write(s->pipe[1], "x", 1));
		pthread_join(s->thread, NULL);
		crt_same(s->result, expected[s->kind], "%s by %s: result", names[s->kind], how);
		crt_same(s->kept, (long long)KEPT, "%s by %s: a register that is kept", names[s->kind], how);
		if (s->kind != READ && s->kind != SELECT && s->kind != BAD)
			crt_ok(s->ms >= TIMEOUT_MS - 5, "%s by %s: slept %ld ms of %d", names[s->kind], how, s->ms, TIMEOUT_MS);
	}
}

const struct crt_test crt_test = {
	.text = "threads asleep in system calls by sc and by scv",
	.setup = setup,
	.verify = verify,
};
