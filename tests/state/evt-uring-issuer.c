// SPDX-License-Identifier: GPL-2.0-only
/*
 * io_uring: rings to which only one thread may submit: that which made it, another that enabled it, one that has
 * exited, none yet; and entries of double size.
 */
#define _GNU_SOURCE
#include "uring.h"
#include <pthread.h>

#define BIG_ENTRIES 4
#define PATTERN 0xa5c3f00d12345678ULL

static struct uring own, deferred, orphan, disabled, big;
static pthread_t thread;
static struct {
	int own, deferred, orphan, result;
	uint64_t user;
} other;

static int submit(struct uring *r, uint64_t user)
{
	int rc;

	uring_add(r, IORING_OP_NOP, -1, NULL, 0, user);
	rc = uring_enter(r, 1, 1);
	if (rc >= 0)
		return rc;
	rc = -errno;
	__atomic_store_n(r->sq_tail, *r->sq_tail - 1, __ATOMIC_RELEASE);
	return rc;
}

static int enable(const struct uring *r)
{
	return (int)syscall(SYS_io_uring_register, r->fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
}

static void *make_orphan(void *arg)
{
	*(bool *)arg = uring_make(&orphan, 2, SETUP_SINGLE_ISSUER) && submit(&orphan, 1) == 1;
	return NULL;
}

static void *thread_main(void *arg)
{
	if (enable(&deferred) || submit(&deferred, 7) != 1)
		crt_die("the ring of the other thread");
	pthread_barrier_wait(arg);
	while (!crt_go())
		crt_sleep_ms(10);
	other.own = submit(&own, 31);
	other.orphan = submit(&orphan, 32);
	other.deferred = submit(&deferred, 33);
	other.result = uring_take(&deferred, &other.user);
	return NULL;
}

static void fill_big(void)
{
	for (unsigned int i = 0; i < BIG_ENTRIES; i++)
		memset(uring_sqe(&big, i) + 1, (int)(i + 1), sizeof(struct io_uring_sqe));
	submit(&big, 51);
	for (unsigned int i = 0; i < 2 * BIG_ENTRIES; i++)
		*(uint64_t *)(uring_cqe(&big, i) + 1) = PATTERN + i;
	uring_add(&big, IORING_OP_NOP, -1, NULL, 0, 52);
}

static void setup(void)
{
	static pthread_barrier_t ready;
	pthread_t first;
	bool made = false;
	uint64_t user;

	if (!uring_make(&own, 2, SETUP_SINGLE_ISSUER))
		crt_skip("no rings for one thread: %s", strerror(errno));
	CRT_SYS(submit(&own, 1) - 1);
	uring_take(&own, &user);
	if (!uring_make(&deferred, 2,
			SETUP_SINGLE_ISSUER | SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_R_DISABLED) ||
	    !uring_make(&disabled, 2, SETUP_SINGLE_ISSUER | IORING_SETUP_R_DISABLED) ||
	    !uring_make(&big, BIG_ENTRIES,
			IORING_SETUP_SQE128 | IORING_SETUP_CQE32 | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG))
		crt_die("cannot make a ring: %s", strerror(errno));
	fill_big();
	CRT_SYS(-pthread_create(&first, NULL, make_orphan, &made));
	pthread_join(first, NULL);
	if (!made)
		crt_die("no ring of a thread that exits");
	pthread_barrier_init(&ready, NULL, 2);
	CRT_SYS(-pthread_create(&thread, NULL, thread_main, &ready));
	pthread_barrier_wait(&ready);
}

static void verify_big(void)
{
	unsigned int bad = 0;
	uint64_t user;

	for (unsigned int i = 0; i < BIG_ENTRIES; i++)
		for (size_t k = 0; k < sizeof(struct io_uring_sqe); k++)
			bad += ((unsigned char *)(uring_sqe(&big, i) + 1))[k] != i + 1;
	crt_same(bad, 0, "the second halves of submissions (IORING_SETUP_SQE128)");
	for (unsigned int i = bad = 0; i < 2 * BIG_ENTRIES; i++)
		bad += *(uint64_t *)(uring_cqe(&big, i) + 1) != PATTERN + i;
	crt_same(bad, 0, "the second halves of completions (IORING_SETUP_CQE32)");
	crt_same(uring_take(&big, &user), 0, "a completion that was not taken");
	crt_same((long long)user, 51, "its user_data");
	crt_same(uring_enter(&big, 1, 1), 1, "a request that was not submitted");
	crt_same(uring_take(&big, &user), 0, "completes");
	crt_same((long long)user, 52, "its user_data");
}

static void verify(void)
{
	uint64_t user;

	pthread_join(thread, NULL);
	crt_same(submit(&own, 11), 1, "who made a ring submits to it");
	crt_same(uring_take(&own, &user), 0, "and it completes");
	crt_same((long long)user, 11, "its user_data");
	crt_same(other.own, -EEXIST, "another thread may not");
	crt_same(submit(&deferred, 12), -EEXIST, "who did not enable a ring may not submit to it");
	crt_same(other.deferred, 1, "the thread that has enabled it may");
	crt_same(other.result, 0, "the completion that it had not taken");
	crt_same((long long)other.user, 7, "its user_data");
	crt_same(submit(&orphan, 13), -EEXIST, "nobody may when that thread is gone");
	crt_same(other.orphan, -EEXIST, "nor may another");
	crt_same(submit(&disabled, 14), -EBADFD, "a ring that is not enabled is not");
	crt_same(enable(&disabled), 0, "it can be");
	crt_same(submit(&disabled, 15), 1, "and is then the one's who did so");
	verify_big();
}

const struct crt_test crt_test = {
	.text = "io_uring: rings of one thread, and entries of double size",
	.setup = setup,
	.verify = verify,
};
