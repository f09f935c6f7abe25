// SPDX-License-Identifier: GPL-2.0-only
/*
 * CR_CHKPT_SNAPSHOT: a program that reads its own context from a pipe, while it is written and its memory changes.  Only one
 * that goes on meanwhile can.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cryo/ioctl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "check.h"

enum {
	PAGES = 2048,	/* more than the pipe has room for, many times */
	ROOM = 1 << 20,	/* of the pipe, in bytes: what is written before memory is much less */
	FIRST = 1000,	/* round */
	TIMEOUT = 3,	/* seconds, after which a request is given up that nobody can go on with */
};

static int ends[2];
static char *area;
static size_t page_size;

static void *reader(void *context)
{
	static char block[65536];
	ssize_t n;

	while ((n = read(ends[0], block, sizeof(block))) > 0)
		if (write(*(int *)context, block, (size_t)n) != n)
			break;
	return NULL;
}

static bool has_snapshots(void)
{
	struct cryo_version info = { .size = sizeof(info) };
	int fd = open("/dev/cryo", O_RDONLY | O_CLOEXEC);
	bool has = fd >= 0 && !ioctl(fd, CRYO_IOC_VERSION, &info) && (info.features & CRYO_FEATURE_SNAPSHOT);

	close(fd);
	return has;
}

/* Each page is to be as the round before has left it. Returns how many are not. */
static int next_round(int round)
{
	int i, bad = 0;

	for (i = 0; i < PAGES; i++) {
		volatile int *at = (volatile int *)(area + i * page_size);

		bad += *at != FIRST + round - 1;
		*at = FIRST + round;
	}
	return bad;
}

static int request(int fd, unsigned int flags, cr_checkpoint_handle_t *handle)
{
	cr_checkpoint_args_t args;

	cr_initialize_checkpoint_args_t(&args);
	args.cr_scope = CR_SCOPE_PROC;
	args.cr_fd = fd;
	args.cr_flags = flags;
	args.cr_timeout = flags && has_snapshots() ? 0 : TIMEOUT;
	return cr_request_checkpoint(&args, handle);
}

/* Its memory changes until the request is over: 0, or its errno. */
static int change_until_over(cr_checkpoint_handle_t *handle)
{
	struct timeval now = { 0, 0 };
	int round = 0, bad = 0;

	do {
		bad += next_round(++round);
		now.tv_usec = 1000;
	} while (cr_wait_checkpoint(handle, &now) != 1);
	is(bad, 0, "memory is of one moment");
	return cr_reap_checkpoint(handle) ? errno : 0;
}

static bool make_area(void)
{
	page_size = (size_t)sysconf(_SC_PAGESIZE);
	area = (char *)mmap(NULL, PAGES * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		return false;
	next_round(0);		/* pages of zeros would not be written */
	return true;
}

static void read_oneself(unsigned int flags, const char *context)
{
	cr_checkpoint_handle_t handle;
	pthread_t thread;
	int error, fd = open(context, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (!make_area() || pipe2(ends, O_CLOEXEC) || fcntl(ends[1], F_SETPIPE_SZ, ROOM) < ROOM ||
	    pthread_create(&thread, NULL, reader, &fd)) {
		ok(false, "a pipe, and who reads it");
		return;
	}
	is(request(ends[1], flags, &handle), 0, "a request to a pipe of one's own");
	error = change_until_over(&handle);
	if (error == CR_ERESTARTED)
		ok(true, "it is restarted from what it has read");
	else if (flags && has_snapshots())
		is(error, 0, "it has read its own context");
	else
		is(error, CR_ETEMPFAIL, "it waits for itself until the time is over");
	close(ends[1]);
	pthread_join(thread, NULL);
	close(fd);
}

static void with_snapshot(void) { read_oneself(CR_CHKPT_SNAPSHOT, has_snapshots() ? "context" : "none"); }
static void without(void) { read_oneself(0, "none"); }

/*
 * Nobody reads: where there are snapshots, the request cannot be over when the process ends.  Elsewhere the process
 * stands still until the request is given up.
 */
static void end_early(void)
{
	cr_checkpoint_handle_t handle;
	int error;

	ok(make_area() && !pipe2(ends, O_CLOEXEC), "a pipe that nobody reads");
	is(request(ends[1], CR_CHKPT_SNAPSHOT, &handle), 0, "a request to it");
	if (has_snapshots())
		pause_ms(1000);
	else
		cr_wait_checkpoint(&handle, NULL);
	error = cr_reap_checkpoint(&handle) ? errno : 0;
	is(error, has_snapshots() ? EAGAIN : CR_ETEMPFAIL, "it goes on where there are snapshots, and is not over");
}

static void no_room(void)
{
	struct rlimit limit = { 2 << 20, 2 << 20 };
	cr_checkpoint_handle_t handle;
	int fd = open("none", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	signal(SIGXFSZ, SIG_IGN);
	ok(make_area() && fd >= 0 && !setrlimit(RLIMIT_FSIZE, &limit), "a file that may not be as long");
	is(request(fd, CR_CHKPT_SNAPSHOT, &handle), 0, "a request to it");
	is(change_until_over(&handle), EFBIG, "it fails, and the process goes on");
	close(fd);
}

int main(void)
{
	/* What is left in the pipe is written to the file again. */
	restart_options[0] = "--no-map";
	is(job(with_snapshot), 0, "with CR_CHKPT_SNAPSHOT");
	is(access("context", F_OK) == 0, has_snapshots(), "there is a context where there are snapshots");
	is(job(without), 0, "without");
	is(job(end_early), 0, "a process that ends before its context is written");
	is(job(no_room), 0, "a context that there is no room for");
	return finish();
}
