// SPDX-License-Identifier: GPL-2.0-only
/*
 * sweep STEP [ARGUMENT...] PID - checkpoints of PID, in each of which something fails
 *
 * What can fail by itself in the module are allocations of memory and copies to and from user memory. In the first
 * checkpoint one of the first STEP of them fails, in the next one up to STEP further on, until there are no more; in
 * one sweep while the process stands still, and in one while it runs on (CRYO_CKPT_SNAPSHOT, CRYO_CKPT_TRACK). /proc/thread-self/fail-nth
 * does that, in kernels with CONFIG_FAULT_INJECTION.
 *
 * A checkpoint may fail for want of memory then. Or it succeeds, and the context has all that it has otherwise.
 * Ends with 1, and says why, where something else happened. The arguments between are those of cr_checkpoint(1) and
 * not looked at.
 */
#define _GNU_SOURCE
#include <cryo/format.h>
#include <cryo/ioctl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define TYPES 256	/* of sections */
#define TRIES 3		/* of what looks wrong */
#define CHANGES 10	/* of a process, after which it is not judged by what its context has */

/* How many sections of each type a context has, and their bytes. */
struct shape {
	unsigned long count[TYPES], bytes[TYPES];
};

static struct shape reference;
static int fail_nth;
static unsigned long left;	/* until something fails; 0: nothing does */

/* ---- letting something fail ---- */

static void set_fail_nth(unsigned long n)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%lu", n);

	if (pwrite(fail_nth, text, (size_t)length, 0) != length) {
		perror("sweep: fail-nth");
		exit(1);
	}
}

/* Whether it was in the call before. The calls in here can fail themselves: then it was not, and it is over. */
static bool has_failed(void)
{
	char text[32] = "";
	bool failed;

	if (!left)
		return false;
	if (pread(fail_nth, text, sizeof(text) - 1, 0) <= 0) {
		left = 1;
		return false;
	}
	(void)!pwrite(fail_nth, "0", 1, 0);
	failed = !strtoul(text, NULL, 10);
	left = strtoul(text, NULL, 10);
	return failed;
}

/* A call in which it may happen: its result, errno as it was after it. */
static int call(bool *failed, int fd, unsigned long command, void *argument)
{
	int result, error;

	if (left)
		set_fail_nth(left);
	result = ioctl(fd, command, argument);
	error = errno;
	*failed = has_failed() || *failed;
	errno = error;
	return result;
}

static void close_handle(bool *failed, int fd)
{
	if (left)
		set_fail_nth(left);
	close(fd);
	*failed = has_failed() || *failed;
}

/* ---- a checkpoint ---- */

struct outcome {
	bool failed;		/* something did, as was asked for */
	int error;		/* of the checkpoint; 0: there is a context */
	const char *call;
	char log[2048];
	struct shape shape;
	double seconds;
};

static bool read_shape(int fd, struct shape *shape)
{
	struct cryo_file_header head;
	struct cryo_section s;
	off_t at;

	memset(shape, 0, sizeof(*shape));
	if (pread(fd, &head, sizeof(head), 0) != sizeof(head))
		return false;
	for (at = head.header_len; pread(fd, &s, sizeof(s), at) == sizeof(s);
	     at += (off_t)(sizeof(s) + s.pad + s.length)) {
		if (s.magic != CRYO_SECTION_MAGIC || s.type >= TYPES)
			return false;
		shape->count[s.type]++;
		shape->bytes[s.type] += s.length;
	}
	return at == lseek(fd, 0, SEEK_END) && shape->count[CRYO_SEC_END] == 1;
}

static void read_log(int handle, struct outcome *o)
{
	ssize_t n = read(handle, o->log, sizeof(o->log) - 1);

	o->log[n > 0 ? n : 0] = '\0';
}

static void run(struct outcome *o, int handle)
{
	struct cryo_ckpt_status status = { .size = sizeof(status) };

	o->call = "CRYO_CKPT_RUN";
	o->error = call(&o->failed, handle, CRYO_CKPT_RUN, NULL) < 0 ? errno : 0;
	read_log(handle, o);
	(void)call(&o->failed, handle, CRYO_CKPT_STATUS, &status);
	close_handle(&o->failed, handle);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* The @nth thing fails; 0: none. */
static void checkpoint(struct outcome *o, pid_t pid, unsigned int flags, unsigned long nth)
{
	int device = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), out = memfd_create("context", MFD_CLOEXEC), handle;
	struct cryo_checkpoint request = {
		.size = sizeof(request), .flags = flags, .target = pid, .scope = CRYO_SCOPE_TREE, .out_fd = out,
	};
	double begin = now();

	if (device < 0 || out < 0) {
		perror("sweep: " CRYO_DEVICE_PATH);
		exit(1);
	}
	memset(o, 0, sizeof(*o));
	left = nth;
	o->call = "CRYO_IOC_CHECKPOINT";
	handle = call(&o->failed, device, CRYO_IOC_CHECKPOINT, &request);
	if (handle < 0)
		o->error = errno;
	else
		run(o, handle);
	o->seconds = now() - begin;
	if (!o->error && !read_shape(out, &o->shape))
		o->error = EBADMSG;
	close(out);
	close(device);
}

/* ---- what is right ---- */

/* What a context may do without: the pages that were used lately; the vdso's data, which are the requester's. */
static bool may_vary(int type)
{
	return type == CRYO_SEC_PAGES_USED || type == CRYO_SEC_VDSO;
}

/* The first type of which there is more or less; -1: none. */
static int find_difference(const struct shape *a, const struct shape *b)
{
	for (int i = 0; i < TYPES; i++)
		if (!may_vary(i) && (a->count[i] != b->count[i] || a->bytes[i] != b->bytes[i]))
			return i;
	return -1;
}

/* Why that is wrong, or NULL. */
static const char *find_fault(const struct outcome *o)
{
	static char text[200];
	int type;

	if (o->seconds > 60)
		return "took more than a minute";
	if (o->error && o->error != ENOMEM && o->error != EFAULT)
		return strerror(o->error);
	if (o->error)
		return NULL;
	type = find_difference(&o->shape, &reference);
	if (type < 0)
		return NULL;
	snprintf(text, sizeof(text), "sections of type %d: %lu with %lu bytes, instead of %lu with %lu", type,
		 o->shape.count[type], o->shape.bytes[type], reference.count[type], reference.bytes[type]);
	return text;
}

static bool take_reference(pid_t pid, unsigned int flags)
{
	struct outcome clean;

	checkpoint(&clean, pid, flags, 0);
	if (clean.error) {
		fprintf(stderr, "sweep: without any fault: %s: %s\n%s", clean.call, strerror(clean.error), clean.log);
		exit(1);
	}
	if (find_difference(&clean.shape, &reference) < 0)
		return false;
	reference = clean.shape;
	return true;
}

/* Once more, unless it is the process that has changed. Returns whether there was something to fail. */
static bool try_fault(pid_t pid, unsigned int flags, unsigned long nth, unsigned long *refused)
{
	const char *fault = NULL;
	struct outcome o;
	int tries = 0, changes = 0;

	do {
		checkpoint(&o, pid, flags, nth);
		fault = find_fault(&o);
		if (fault && !o.error && take_reference(pid, flags))
			changes++;
		else
			tries++;
	} while (fault && tries < TRIES && changes < CHANGES);
	if (changes == CHANGES)
		fault = NULL;
	if (fault) {
		fprintf(stderr, "sweep: flags %#x, fault %lu: %s: %s\n%s", flags, nth, o.call, fault, o.log);
		exit(1);
	}
	*refused += !!o.error;
	return o.failed;
}

static void sweep(pid_t pid, unsigned int flags, unsigned long step)
{
	unsigned long nth, faults = 0, refused = 0;

	take_reference(pid, flags);
	for (nth = 1 + (unsigned long)random() % step; try_fault(pid, flags, nth, &refused);
	     nth += 1 + (unsigned long)random() % step)
		faults++;
	fprintf(stderr, "sweep: flags %#x: %lu faults up to %lu, %lu checkpoints failed\n", flags, faults, nth, refused);
	/* Where nothing ever fails, nothing has been tried. */
	if (step < 10 && !refused)
		exit(1);
}

int main(int argc, char **argv)
{
	unsigned long step = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	pid_t pid = argc > 2 ? atoi(argv[argc - 1]) : 0;

	if (!step || !pid) {
		fprintf(stderr, "usage: sweep STEP [ARGUMENT...] PID\n");
		return 2;
	}
	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (fail_nth < 0) {
		perror("sweep: fail-nth");
		return 1;
	}
	srandom((unsigned int)time(NULL));
	sweep(pid, 0, step);
	sweep(pid, CRYO_CKPT_SNAPSHOT | CRYO_CKPT_TRACK, step);
	return 0;
}
