// SPDX-License-Identifier: GPL-2.0-only
/*
 * io_uring: completions that were not taken, requests that were not submitted, counters beyond the end of the
 * ring, an eventfd, a ring that two processes have; and a request that ends while it is waited for.
 */
#define _GNU_SOURCE
#include "uring.h"
#include <linux/time_types.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <fcntl.h>

#define ENTRIES 4
#define TURNS 11
#define TEXT "eleven bytes"

static struct uring ring, busy;
static int event, file, to_child[2], to_parent[2];
static char text[32];
static unsigned int rounds, head_before, tail_before;
static bool wrong_round;

/* The child submits on the ring that it has from its parent. */
static void child_main(void)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CRT_SYS(write(to_parent[1], "r", 1));
	while (read(to_child[0], &byte, 1) == 1) {
		uring_add(&ring, IORING_OP_NOP, -1, NULL, 0, 301);
		byte = (char)uring_enter(&ring, 1, 0);
		CRT_SYS(write(to_parent[1], &byte, 1));
	}
	_exit(0);
}

static void nops(unsigned int n, uint64_t first)
{
	for (unsigned int i = 0; i < n; i++) {
		uring_add(&ring, IORING_OP_NOP, -1, NULL, 0, first + i);
		crt_check(uring_enter(&ring, 1, 1) == 1 ? 0 : -1, "a NOP");
	}
}

static void setup(void)
{
	uint64_t user, count;
	char byte;

	if (!uring_make(&ring, ENTRIES, 0))
		crt_skip("no io_uring: %s", strerror(errno));
	/* Attached to the workers of the other, which says nothing any more. */
	if (!uring_make_by(&busy, 2, (struct io_uring_params){ .flags = IORING_SETUP_ATTACH_WQ, .wq_fd = (uint32_t)ring.fd }))
		crt_die("no second ring: %s", strerror(errno));
	file = (int)CRT_SYS(open(crt_path("file"), O_RDWR | O_CREAT, 0600));
	CRT_SYS(write(file, TEXT, strlen(TEXT)));
	for (unsigned int i = 0; i < TURNS; i++) {
		nops(1, i);
		uring_take(&ring, &user);
	}
	event = (int)CRT_SYS(eventfd(0, EFD_NONBLOCK));
	CRT_SYS(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_EVENTFD, &event, 1));
	nops(3, 101);
	CRT_SYS(read(event, &count, sizeof(count)));
	uring_add(&ring, IORING_OP_NOP, -1, NULL, 0, 201);
	uring_add(&ring, IORING_OP_READ, file, text, sizeof(text), 202);
	head_before = *ring.sq_head;
	tail_before = *ring.cq_tail;
	CRT_SYS(pipe(to_child));
	CRT_SYS(pipe(to_parent));
	if (!CRT_SYS(fork()))
		child_main();
	CRT_SYS(read(to_parent[0], &byte, 1));
}

/* There is nearly always a request under way, and the thread waits for it in io_uring_enter(). */
static void busy_wait(void)
{
	struct __kernel_timespec delay = { .tv_nsec = 100000000 };
	uint64_t user;
	int rc;

	while (access(crt_path("go"), F_OK)) {
		uring_add(&busy, IORING_OP_TIMEOUT, -1, &delay, 1, ++rounds);
		rc = uring_enter(&busy, 1, 1);
		if (rc != 1)
			crt_diag("round %u: io_uring_enter() gave %d (%s)", rounds, rc, strerror(errno));
		wrong_round |= rc != 1;
		while ((rc = uring_take(&busy, &user)) == -ENOENT)
			uring_enter(&busy, 0, 1);
		if (rc != -ETIME || user != rounds)
			crt_diag("round %u: %d of %llu", rounds, rc, (unsigned long long)user);
		wrong_round |= rc != -ETIME || user != rounds;
	}
	crt_wait_go();
}

static void verify(void)
{
	uint64_t user, count = 0;
	char byte = 'x';

	crt_same(*ring.sq_head, head_before, "submissions are counted on");
	crt_same(*ring.cq_tail, tail_before, "completions are counted on");
	for (uint64_t i = 101; i <= 103; i++) {
		crt_same(uring_take(&ring, &user), 0, "a completion that was not taken");
		crt_same((long long)user, (long long)i, "its user_data");
	}
	crt_same(uring_take(&ring, &user), -ENOENT, "and no other");
	crt_same(read(event, &count, sizeof(count)), -1, "the eventfd has nothing new");
	CRT_SYS(lseek(file, 0, SEEK_SET));
	crt_same(uring_enter(&ring, 2, 2), 2, "requests that were not submitted");
	crt_same(uring_take(&ring, &user), 0, "complete: a NOP");
	crt_same((long long)user, 201, "its user_data");
	crt_same(uring_take(&ring, &user), (long long)strlen(TEXT), "a read");
	crt_same((long long)user, 202, "its user_data");
	crt_same_str(text, TEXT, "what was read");
	crt_ok(read(event, &count, sizeof(count)) == sizeof(count) && count > 0, "the eventfd heard of it");
	uring_add(&ring, IORING_OP_WRITE, file, text, 6, 203);
	crt_same(uring_enter(&ring, 1, 1), 1, "a write");
	crt_same(uring_take(&ring, &user), 6, "completes");
	CRT_SYS(write(to_child[1], &byte, 1));
	CRT_SYS(read(to_parent[0], &byte, 1));
	crt_same(byte, 1, "the child submits");
	crt_same(uring_take(&ring, &user), 0, "and the parent takes what comes of it");
	crt_same((long long)user, 301, "its user_data");
	crt_ok(!wrong_round && rounds > 3, "requests that ended while they were waited for (%u)", rounds);
	CRT_SYS(ftruncate(file, (off_t)strlen(TEXT)));
}

const struct crt_test crt_test = {
	.text = "io_uring: queues, counters, eventfd, shared by two processes",
	.setup = setup,
	.wait = busy_wait,
	.verify = verify,
};
