// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eight threads, each busy in its own way, that count every result that is not what it should
 * be: an EINTR, a wrong sum, a lost byte, a wait that ends early.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct worker {
	const char *name;
	void (*run)(struct worker *w);
	atomic_ulong rounds, interrupted, wrong;
	pthread_t id;
} workers[8];

/* -1 with EINTR is what a checkpoint must never cause. */
static bool good(struct worker *w, long rc)
{
	if (rc >= 0)
		return true;
	if (errno == EINTR)
		w->interrupted++;
	else
		w->wrong++;
	return false;
}

static void compute(struct worker *w)
{
	double x = 0.5;
	uint64_t h = 1;

	for (int i = 0; i < 20000; i++) {
		x = x * 3.7 * (1 - x);
		h = h * 6364136223846793005ULL + (uint64_t)(x * 1e9);
	}
	static _Atomic uint64_t first;
	uint64_t none = 0;

	if (!atomic_compare_exchange_strong(&first, &none, h))
		w->wrong += h != first;
}

static int ping[2], pong[2];

static void ping_pong(struct worker *w)
{
	uint32_t value = (uint32_t)w->rounds, back = 0;

	if (good(w, write(ping[1], &value, 4)) && good(w, read(pong[0], &back, 4)))
		w->wrong += back != value + 1;
}

static atomic_bool answered_all;

/* Goes on when the word has been given: the other side may have written after that. */
static void answer(struct worker *w)
{
	uint32_t value;

	if (!good(w, read(ping[0], &value, 4)))
		return;
	answered_all = value == ~0U;
	value++;
	if (!answered_all)
		good(w, write(pong[1], &value, 4));
}

static int set, event;

static void epoll(struct worker *w)
{
	struct epoll_event events[2];
	int64_t start = crt_now_ns();
	long n = epoll_wait(set, events, 2, 20);

	if (good(w, n) && n == 0)
		w->wrong += crt_now_ns() - start < 19000000;
	if (n > 0) {
		uint64_t value;

		w->wrong += read(event, &value, sizeof(value)) != 8 || value != 1;
	}
}

static void sleeper(struct worker *w)
{
	struct timespec ts = { 0, 15000000 };
	int64_t start = crt_now_ns();

	if (good(w, nanosleep(&ts, NULL)))
		w->wrong += crt_now_ns() - start < 15000000;
	if (w->rounds % 4 == 0) {
		uint64_t one = 1;

		good(w, write(event, &one, 8));
	}
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void waiter(struct worker *w)
{
	struct timespec ts;
	int rc;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += 10000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&mutex);
	rc = pthread_cond_timedwait(&cond, &mutex, &ts);
	pthread_mutex_unlock(&mutex);
	w->wrong += rc != ETIMEDOUT && rc != 0;
}

static void memory(struct worker *w)
{
	size_t size = 256 << 10;
	unsigned char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		w->wrong++;
		return;
	}
	memset(p, (int)w->rounds, size);
	mprotect(p, size / 2, PROT_READ);
	w->wrong += p[0] != (unsigned char)w->rounds || p[size - 1] != p[0];
	munmap(p, size);
}

static int file;
static char scratch[4096];	/* crt_path() has one buffer, and threads use it in setup() only */

static void files(struct worker *w)
{
	char buf[64], back[64] = "";
	int n = snprintf(buf, sizeof(buf), "line %lu\n", (unsigned long)w->rounds);
	int fd = open(scratch, O_RDWR | O_CREAT, 0600);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	good(w, fd);
	if (good(w, pwrite(file, buf, (size_t)n, 0)) && good(w, pread(file, back, (size_t)n, 0)))
		w->wrong += memcmp(buf, back, (size_t)n) != 0;
	w->wrong += poll(&p, 1, 5) != 1;
	close(fd);
}

static struct worker workers[8] = {
	{ .name = "compute", .run = compute }, { .name = "ping", .run = ping_pong },
	{ .name = "pong", .run = answer },     { .name = "epoll", .run = epoll },
	{ .name = "sleep", .run = sleeper },   { .name = "wait", .run = waiter },
	{ .name = "memory", .run = memory },   { .name = "files", .run = files },
};

static void *thread_main(void *arg)
{
	struct worker *w = arg;

	while (w->run == answer ? !answered_all : !crt_go()) {
		w->run(w);
		w->rounds++;
	}
	return NULL;
}

static void setup(void)
{
	struct epoll_event e = { .events = EPOLLIN };

	CRT_SYS(pipe(ping));
	CRT_SYS(pipe(pong));
	set = (int)CRT_SYS(epoll_create1(0));
	event = (int)CRT_SYS(eventfd(0, EFD_SEMAPHORE));
	CRT_SYS(epoll_ctl(set, EPOLL_CTL_ADD, event, &e));
	snprintf(scratch, sizeof(scratch), "%s", crt_path("scratch"));
	file = (int)CRT_SYS(open(crt_path("file"), O_RDWR | O_CREAT, 0600));
	for (int i = 0; i < 8; i++)
		CRT_SYS(-pthread_create(&workers[i].id, NULL, thread_main, &workers[i]));
}

static void verify(void)
{
	uint32_t end = ~0U;

	for (int i = 0; i < 8; i++) {
		struct worker *w = &workers[i];

		if (w->run == answer)
			CRT_SYS(write(ping[1], &end, 4));	/* after the last ping has been answered */
		pthread_join(w->id, NULL);
		crt_ok(w->rounds > 0, "%s: was busy (%lu rounds)", w->name, (unsigned long)w->rounds);
		crt_same((long long)w->interrupted, 0, "%s: no EINTR", w->name);
		crt_same((long long)w->wrong, 0, "%s: nothing wrong", w->name);
	}
}

const struct crt_test crt_test = {
	.text = "a busy program with eight threads never notices",
	.setup = setup,
	.verify = verify,
	.timeout_s = 240,
};
