// SPDX-License-Identifier: GPL-2.0-only
/* The same as refuse.c, for rings of io_uring: what they are set up with, and what is registered with them. */
#define _GNU_SOURCE
#include "refuse-run.h"
#include "uring.h"
#include <fcntl.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>

/* Flags and commands that the headers may not know yet. */
#define SETUP_CQE_MIXED (1U << 18)
#define SETUP_SQE_MIXED (1U << 19)
#define REGISTER_CLOCK 29
#define REGISTER_NAPI 27

static bool register_with(const struct uring *r, unsigned int what, const void *arg, unsigned int n)
{
	return syscall(SYS_io_uring_register, r->fd, what, arg, n) >= 0;
}

static bool expect_ring(const struct uring *r, const char *reason)
{
	crt_expect("pid %d|fd %d (io_uring): %s is not supported", getpid(), r->fd, reason);
	return true;
}

/* A completion takes its turn through the ring. */
static bool turns(struct uring *r)
{
	uint64_t user = 0;

	uring_add(r, IORING_OP_NOP, -1, NULL, 0, 77);
	return uring_enter(r, 1, 1) == 1 && uring_take(r, &user) == 0 && user == 77;
}

static bool with_flags(struct uring *r, unsigned int flags, const char *reason)
{
	return uring_make(r, 4, flags) && expect_ring(r, reason);
}

static struct uring several, lost, mapped, shared, tables, mixed, mixed_sq;

/* One thread of the kernel for two rings. */
static bool make_several(void)
{
	struct uring second;

	return uring_make(&several, 4, IORING_SETUP_SQPOLL) &&
	       uring_make_by(&second, 4, (struct io_uring_params){ .flags = IORING_SETUP_SQPOLL | IORING_SETUP_ATTACH_WQ,
							    .wq_fd = (uint32_t)several.fd }) &&
	       expect_ring(&several, "a polled ring (IORING_SETUP_SQPOLL) that shares its thread with another") &&
	       expect_ring(&second, "a polled ring (IORING_SETUP_SQPOLL) that shares its thread with another");
}

static bool works_several(void)
{
	uint64_t user = 0;

	uring_add(&several, IORING_OP_NOP, -1, NULL, 0, 77);
	uring_wake(&several, 1);
	while (uring_take(&several, &user) == -ENOENT)
		crt_sleep_ms(1);
	return user == 77;
}

/* It was of another process that had the same descriptors. */
static bool make_lost(void)
{
	int status = 0;
	pid_t pid;

	pid = (pid_t)CRT_SYS(syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0));
	if (!pid) {
		lost.fd = uring_make(&lost, 4, IORING_SETUP_SQPOLL) ? lost.fd : 255;
		_exit(lost.fd);
	}
	CRT_SYS(waitpid(pid, &status, 0));
	lost.fd = WEXITSTATUS(status);
	return lost.fd != 255 &&
	       expect_ring(&lost, "a polled ring (IORING_SETUP_SQPOLL) whose thread is not one of its process");
}

static bool make_mapped(void)
{
	if (!uring_make(&mapped, 4, IORING_SETUP_SQPOLL))
		return false;
	CRT_SYS(close(mapped.fd));
	crt_expect("pid %d|memory at|(io_uring): a polled ring (IORING_SETUP_SQPOLL) that is mapped, but not open is not supported",
		   getpid());
	return true;
}

static bool make_shared(void)
{
	if (!uring_make(&shared, 4, IORING_SETUP_SQPOLL))
		return false;
	if (!CRT_SYS(fork()))
		for (;;)
			pause();
	return expect_ring(&shared, "a polled ring (IORING_SETUP_SQPOLL) that several processes have");
}

static bool make_tables(void)
{
	if (!uring_make(&tables, 4, IORING_SETUP_SQPOLL))
		return false;
	CRT_SYS(unshare(CLONE_FS));
	return expect_ring(&tables,
			   "a polled ring (IORING_SETUP_SQPOLL) whose thread has tables of its own");
}

static bool make_mixed(void)
{
	return with_flags(&mixed, SETUP_CQE_MIXED, "a ring set up with other flags");
}

static bool make_mixed_sq(void)
{
	return with_flags(&mixed_sq, SETUP_SQE_MIXED, "a ring set up with other flags");
}

/* ---- registered ---- */

static struct uring files, personality, restricted, workers, clocked, overflown, quiet, registered, foreign;

static bool make_files(void)
{
	int fd = 0;

	return uring_make(&files, 4, 0) && register_with(&files, IORING_REGISTER_FILES, &fd, 1) &&
	       expect_ring(&files, "a ring with registered files");
}

static bool works_files(void)
{
	return turns(&files);
}

static bool make_personality(void)
{
	return uring_make(&personality, 4, 0) && register_with(&personality, IORING_REGISTER_PERSONALITY, NULL, 0) &&
	       expect_ring(&personality, "a ring with registered credentials");
}

static bool make_restricted(void)
{
	struct io_uring_restriction only = { .opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_NOP };

	return uring_make(&restricted, 4, IORING_SETUP_R_DISABLED) &&
	       register_with(&restricted, IORING_REGISTER_RESTRICTIONS, &only, 1) &&
	       register_with(&restricted, IORING_REGISTER_ENABLE_RINGS, NULL, 0) &&
	       expect_ring(&restricted, "a ring with restrictions");
}

static bool make_workers(void)
{
	unsigned int most[2] = { 2, 2 };

	return uring_make(&workers, 4, 0) && register_with(&workers, IORING_REGISTER_IOWQ_MAX_WORKERS, most, 2) &&
	       expect_ring(&workers, "a ring with a registered clock, memory, limit of workers or busy polling");
}

static bool make_clock(void)
{
	uint32_t clock[4] = { CLOCK_BOOTTIME };

	return uring_make(&clocked, 4, 0) && register_with(&clocked, REGISTER_CLOCK, clock, 0) &&
	       expect_ring(&clocked, "a ring with a registered clock, memory, limit of workers or busy polling");
}

static bool make_busy_polling(void)
{
	static struct uring r;
	uint32_t poll[4] = { 100 };

	return uring_make(&r, 4, 0) && register_with(&r, REGISTER_NAPI, poll, 1) &&
	       expect_ring(&r, "a ring with a registered clock, memory, limit of workers or busy polling");
}

/* More completions than the ring has places for. */
static bool make_overflow(void)
{
	if (!uring_make(&overflown, 1, 0))
		return false;
	for (unsigned int i = 0; i < 4; i++) {
		uring_add(&overflown, IORING_OP_NOP, -1, NULL, 0, i);
		crt_check(uring_enter(&overflown, 1, 0) == 1 ? 0 : -1, "a NOP");
	}
	return expect_ring(&overflown, "a ring with overflowed completions");
}

static bool works_overflow(void)
{
	uint64_t user, taken = 0;

	while (taken < 4) {
		if (uring_take(&overflown, &user) != 0) {
			if (uring_enter(&overflown, 0, 1) < 0)
				return false;
		} else if (user != taken++) {
			return false;
		}
	}
	return true;
}

static bool make_quiet(void)
{
	int event = eventfd(0, 0);

	if (!uring_make(&quiet, 4, 0) || !register_with(&quiet, IORING_REGISTER_EVENTFD, &event, 1))
		return false;
	CRT_SYS(close(event));
	crt_expect("pid %d|fd %d (io_uring): its eventfd is not open in the context any more", getpid(), quiet.fd);
	return true;
}

static bool make_registered(void)
{
	struct io_uring_rsrc_update at = { .offset = -1U };

	if (!uring_make(&registered, 4, 0))
		return false;
	at.data = (uint64_t)registered.fd;
	if (!register_with(&registered, IORING_REGISTER_RING_FDS, &at, 1))
		return false;
	crt_expect("pid %d|thread %d: descriptors of rings that are registered (io_uring) are not supported", getpid(),
		   getpid());
	return true;
}

static void use(void *arg)
{
	(void)arg;
	uring_add(&foreign, IORING_OP_NOP, -1, NULL, 0, 1);
	uring_enter(&foreign, 1, 0);
}

static bool make_foreign(void)
{
	if (!uring_make(&foreign, 4, 0))
		return false;
	refuse_leave_orphan(use, NULL);
	return expect_ring(&foreign, "a ring that a process outside the checkpoint uses");
}

struct obstacle obstacles[] = {
	{ .name = "several", .make = make_several, .works = works_several },
	{ .name = "lost", .make = make_lost },
	{ .name = "mapped", .make = make_mapped },
	{ .name = "shared", .make = make_shared, .alone = true },
	{ .name = "tables", .make = make_tables, .alone = true },
	{ .name = "mixed", .make = make_mixed },
	{ .name = "mixed-sq", .make = make_mixed_sq },
	{ .name = "files", .make = make_files, .works = works_files },
	{ .name = "personality", .make = make_personality },
	{ .name = "restricted", .make = make_restricted },
	{ .name = "workers", .make = make_workers },
	{ .name = "clock", .make = make_clock },
	{ .name = "busy-polling", .make = make_busy_polling },
	{ .name = "overflow", .make = make_overflow, .works = works_overflow },
	{ .name = "quiet", .make = make_quiet },
	{ .name = "registered", .make = make_registered },
	{ .name = "foreign", .make = make_foreign },
};

const unsigned int nr_obstacles = sizeof(obstacles) / sizeof(obstacles[0]);

const struct crt_test crt_test = {
	.text = "rings of io_uring that cannot be made again are refused by name",
	.setup = refuse_setup,
	.verify = refuse_verify,
	.flags = CRT_REFUSE,
	.cases = "several mapped shared tables registered overflow",
};
