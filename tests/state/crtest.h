/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * crtest.h - a test that proves one kind of state across a checkpoint
 *
 * A test program defines one struct crt_test named crt_test; main() is in
 * crtest.c.  Run by hand, the program starts crtest-run, which runs the program
 * again as the process under test:
 *
 *   setup()   brings the state about and remembers what it is;
 *   wait()    what the main thread does while it is checkpointed and restarted:
 *             crt_wait_go() unless the test has its own;
 *   verify()  looks at the state in whatever process this is by now, and
 *             says so with crt_ok() and its relatives.
 *
 * Nothing here knows whether a checkpoint took place: an undisturbed run goes
 * the same way (CRTEST_MODES=plain) and has to pass as well.
 */
#ifndef CRTEST_H
#define CRTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#define CRT_ROOT	(1U << 0)	/* runs as root; default: as the user in CRTEST_USER, "cryo" */
#define CRT_PTY		(1U << 1)	/* stdin is a terminal, the controlling one; lines are typed when it is time to go */
#define CRT_STOPPED	(1U << 2)	/* stops itself by SIGSTOP before the checkpoint */
#define CRT_REFUSE	(1U << 3)	/* the checkpoint has to fail with the obstacles of crt_expect() */
#define CRT_NO_RESTART	(1U << 4)	/* only checkpoints in place */
#define CRT_PIPE	(1U << 5)	/* stdin is a pipe that ends with the same lines; another one after a restart */
#define CRT_ONCE	(1U << 6)	/* verify() changes files that are mapped: no second restart */
#define CRT_RUNS_ON	(1U << 7)	/* goes on after the checkpoint that it is restarted from, until it is killed by hand */

struct crt_test {
	const char *text;		/* what has to hold, one line */
	void (*setup)(void);
	void (*wait)(void);
	void (*verify)(void);
	unsigned int flags;
	const char *checkpoint_args;	/* more options for cr_checkpoint, separated by blanks */
	const char *restart_args;
	unsigned int settle_ms;		/* from ready to the first checkpoint */
	unsigned int dead_ms;		/* from the end of the process to its restart */
	unsigned int max_context_kib;	/* the context may not be larger; 0: any size */
	unsigned int timeout_s;		/* of one mode; 0: 60 */
	const char *cases;		/* after a run without a case, one with each of these; separated by blanks */
};

extern const struct crt_test crt_test;

extern const char *crt_case;		/* argument of the program, NULL if none */

/* The directory of this run, absolute; a file in it (static buffer, eight of them in turn). */
const char *crt_dir(void);
const char *crt_path(const char *name);

/* One TAP line. Returns @cond. */
bool crt_ok(bool cond, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for "is what it was": both values are shown when they differ. */
bool crt_same(long long now, long long before, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool crt_same_str(const char *now, const char *before, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void crt_diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The test cannot be set up: say why, give up (counts as a failure). */
void crt_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* This machine lacks what the test is about (counts as skipped). */
void crt_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* With CRT_REFUSE: one line of the tool's output has to hold all these words, separated by '|'. */
void crt_expect(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* @x must not be -1 (MAP_FAILED). */
#define CRT_SYS(x) crt_check((long long)(x), #x)
#define CRT_MAP(x) crt_check_map((x), #x)
long long crt_check(long long value, const char *what);
void *crt_check_map(void *value, const char *what);

/* Waits for the driver's word to go on, computing; notes jumps of the clock. */
void crt_wait_go(void);
bool crt_go(void);			/* whether the word has been given; any thread */
/* Time during which the process did not exist, as crt_wait_go() saw it. Its clocks have not gone on. */
int64_t crt_gap_ns(void);
int64_t crt_gap_end_ns(void);		/* when it last came back, on the clock of crt_now_ns() */
/* Time during which it stood still otherwise: for a checkpoint, or because others had the processors. */
int64_t crt_pause_ns(void);
int64_t crt_now_ns(void);		/* CLOCK_MONOTONIC */
/* What memory is protected and mapped by; 4096 is not everywhere enough. */
static inline size_t crt_page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

void crt_sleep_ms(unsigned int ms);	/* in spite of EINTR */
void crt_leave_no_time_wait(void);	/* all sockets are aborted when they are closed: the next restart need not wait for ports */

/* A pseudo-random pattern; crt_bad() returns the offset of the first wrong byte, -1 if none. */
void crt_fill(void *where, size_t size, uint64_t seed);
ssize_t crt_bad(const void *where, size_t size, uint64_t seed);

/* Writes a file of this run (0644) with the pattern; returns its path. */
const char *crt_make_file(const char *name, size_t size, uint64_t seed);
/* Writes to a file in one call, as those of /proc want it; @flags: more for open(2), as O_CREAT (0644). */
void crt_put(const char *path, const char *text, int flags);
/* In a user namespace without ids: user and group 0 are @uid and @gid outside. */
void crt_map_ids(uid_t uid, gid_t gid);
/* Enters a user namespace of its own as 0 and 0, and with it new ones of the kinds @flags (CLONE_NEW*). */
void crt_unshare_users(int flags);
/* Reads a whole file, proc files too, into a static-size buffer; returns its length. */
size_t crt_slurp(const char *path, char *buf, size_t size);
/* The field (1-based, as in proc(5)) of /proc/self/task/TID/stat. */
unsigned long long crt_stat_field(pid_t tid, int field);
/* The value after "NAME:" in /proc/self/status, or in the smaps entry of @addr. */
bool crt_status(const char *name, char *buf, size_t size);
bool crt_smaps(const void *addr, const char *name, char *buf, size_t size);
bool crt_has_word(const char *line, const char *word);

/* Catches SIGSEGV/SIGBUS of one access; returns the signal, 0 if none, *fault its address. */
int crt_try_read(const volatile void *addr, void **fault);
int crt_try_write(volatile void *addr, void **fault);

#endif /* CRTEST_H */
