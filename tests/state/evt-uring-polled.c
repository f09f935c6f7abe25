// SPDX-License-Identifier: GPL-2.0-only
/*
 * io_uring: a thread of the kernel that submits (IORING_SETUP_SQPOLL): it is there again, with its CPU and how long it
 * looks for more; requests that it has not seen, one ring on which it is busy, one that is watched by epoll.
 */
#define _GNU_SOURCE
#include "uring.h"
#include <dirent.h>
#include <fcntl.h>
#include <linux/time_types.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#define TEXT "polled"
#define LONG_IDLE 5000		/* milliseconds */
#define MAX_THREADS 16
#define THREADS 8

static struct uring ring, pinned, busy;
static int file, event, epoll;
static pid_t ids[THREADS];
static pthread_t threads[THREADS];
static unsigned int rounds;
static bool wrong_round;
static char text[32];

static struct poller {
	char name[32], cpus[64];
	long uid;
} before[MAX_THREADS];
static unsigned int nr_before;

static void *thread_main(void *arg)
{
	*(pid_t *)arg = gettid();
	while (!crt_go())
		crt_sleep_ms(10);
	return *(pid_t *)arg == gettid() ? arg : NULL;
}

/* The value of a line of /proc/self/task/TID/status. */
static void field(const char *status, const char *name, char *out, size_t size)
{
	const char *at = strstr(status, name);

	snprintf(out, size, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
}

/* False: the thread has exited. */
static bool read_status(const char *tid, char *buf, size_t size)
{
	char path[300];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	fd = open(path, O_RDONLY);
	if (fd >= 0) {
		n = read(fd, buf, size - 1);
		close(fd);
	}
	buf[n > 0 ? n : 0] = 0;
	return n > 0;
}

static int by_cpus(const void *a, const void *b)
{
	return strcmp(((const struct poller *)a)->cpus, ((const struct poller *)b)->cpus);
}

/* The threads of the kernel that are in this process, in the order of the CPUs that they may use. */
static unsigned int find_pollers(struct poller *found)
{
	static char status[8192];
	struct dirent *entry;
	unsigned int n = 0;
	DIR *dir = opendir("/proc/self/task");
	char uid[64];

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !read_status(entry->d_name, status, sizeof(status)) || n == MAX_THREADS)
			continue;
		if (strncmp(status, "Name:\tiou-sqp", 13))
			continue;
		field(status, "Name:", found[n].name, sizeof(found[n].name));
		field(status, "Cpus_allowed:", found[n].cpus, sizeof(found[n].cpus));
		field(status, "Uid:", uid, sizeof(uid));
		found[n++].uid = strtol(uid + strlen("Uid:\t"), NULL, 10);
	}
	if (dir)
		closedir(dir);
	qsort(found, n, sizeof(*found), by_cpus);
	return n;
}

static void await_completion(struct uring *r, int result, uint64_t user, const char *what)
{
	uint64_t got;
	int rc;

	while ((rc = uring_take(r, &got)) == -ENOENT)
		uring_wake(r, 1);
	crt_same(rc, result, "%s", what);
	crt_same((long long)got, (long long)user, "its user_data");
}

static void wait_until_asleep(const struct uring *r)
{
	while (!uring_sleeps(r))
		crt_sleep_ms(5);
}

static void setup(void)
{
	struct epoll_event watch = { .events = EPOLLIN, .data.u64 = 99 };
	cpu_set_t cpus;
	unsigned int cpu;
	uint64_t user;

	CPU_ZERO(&cpus);
	CRT_SYS(sched_getaffinity(0, sizeof(cpus), &cpus));
	for (cpu = CPU_SETSIZE - 1; !CPU_ISSET(cpu, &cpus);)
		cpu--;
	if (!uring_make_by(&ring, 4, (struct io_uring_params){ .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 20 }))
		crt_skip("no rings that the kernel polls: %s", strerror(errno));
	if (!uring_make_by(&pinned, 2, (struct io_uring_params){ .flags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF,
			   .sq_thread_cpu = cpu, .sq_thread_idle = LONG_IDLE }) ||
	    !uring_make_by(&busy, 2, (struct io_uring_params){ .flags = IORING_SETUP_SQPOLL | SETUP_SINGLE_ISSUER,
			   .sq_thread_idle = 50 }))
		crt_die("cannot make a ring: %s", strerror(errno));
	file = (int)CRT_SYS(open(crt_path("file"), O_RDWR | O_CREAT, 0600));
	CRT_SYS(write(file, TEXT, strlen(TEXT)));
	event = (int)CRT_SYS(eventfd(0, EFD_NONBLOCK));
	CRT_SYS(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_EVENTFD, &event, 1));
	epoll = (int)CRT_SYS(epoll_create1(0));
	for (int i = 0; i < THREADS; i++)
		CRT_SYS(-pthread_create(&threads[i], NULL, thread_main, &ids[i]));
	uring_add(&ring, IORING_OP_NOP, -1, NULL, 0, 1);
	uring_wake(&ring, 1);
	CRT_SYS(read(event, &user, sizeof(user)));
	wait_until_asleep(&ring);
	/* The thread sleeps, and nobody tells it of this one. */
	uring_add(&ring, IORING_OP_READ, file, text, sizeof(text), 2)->off = 0;
	CRT_SYS(epoll_ctl(epoll, EPOLL_CTL_ADD, pinned.fd, &watch));
	nr_before = find_pollers(before);
}

/* There is nearly always a request under way. */
static void busy_wait(void)
{
	struct __kernel_timespec delay = { .tv_nsec = 50000000 };
	uint64_t user;
	int rc;

	while (access(crt_path("go"), F_OK)) {
		uring_add(&busy, IORING_OP_TIMEOUT, -1, &delay, 1, ++rounds);
		uring_wake(&busy, 1);
		while ((rc = uring_take(&busy, &user)) == -ENOENT)
			uring_wake(&busy, 1);
		wrong_round |= rc != -ETIME || user != rounds;
		if (rc != -ETIME || user != rounds)
			crt_diag("round %u: %d of %llu", rounds, rc, (unsigned long long)user);
	}
	crt_wait_go();
}

static void verify_pollers(void)
{
	struct poller now[MAX_THREADS];
	unsigned int n = find_pollers(now);

	crt_same(n, nr_before, "threads of the kernel");
	for (unsigned int i = 0; i < n && i < nr_before; i++) {
		crt_same_str(now[i].name, before[i].name, "name");
		crt_same_str(now[i].cpus, before[i].cpus, "CPUs");
		crt_same(now[i].uid, before[i].uid, "user");
	}
}

static void verify(void)
{
	struct epoll_event watched = {};
	uint64_t count = 0;

	verify_pollers();
	for (int i = 0; i < THREADS; i++) {
		void *value = NULL;

		pthread_join(threads[i], &value);
		crt_ok(value == &ids[i], "thread %d has its id", i);
	}
	await_completion(&ring, 0, 1, "a completion that was not taken");
	await_completion(&ring, (int)strlen(TEXT), 2, "a request of which nobody had told");
	crt_same_str(text, TEXT, "what was read");
	crt_ok(read(event, &count, sizeof(count)) == sizeof(count) && count > 0, "the eventfd heard of it");
	uring_add(&pinned, IORING_OP_NOP, -1, NULL, 0, 3);
	uring_wake(&pinned, 0);
	crt_same(epoll_wait(epoll, &watched, 1, 30000), 1, "the ring is watched");
	crt_same((long long)watched.data.u64, 99, "its data");
	await_completion(&pinned, 0, 3, "a request");
	crt_sleep_ms(LONG_IDLE / 10);
	crt_ok(!uring_sleeps(&pinned), "the thread goes on looking for more");
	uring_add(&ring, IORING_OP_NOP, -1, NULL, 0, 4);
	uring_wake(&ring, 1);
	await_completion(&ring, 0, 4, "a request after that");
	wait_until_asleep(&ring);
	crt_ok(true, "the other sleeps");
	crt_ok(!wrong_round && rounds > 3, "requests that ended while they were waited for (%u)", rounds);
}

const struct crt_test crt_test = {
	.text = "io_uring: a thread of the kernel that submits",
	.setup = setup,
	.wait = busy_wait,
	.verify = verify,
};
