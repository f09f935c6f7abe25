// SPDX-License-Identifier: GPL-2.0-only
/* fanotify with privileges: marks of mounts and file systems, permission events, what others may not know. */
#define _GNU_SOURCE
#include "fanotify.h"
#include <linux/capability.h>
#include <poll.h>
#include <sys/syscall.h>

#define PLACE "/dev/shm"

static int guard, whole, humble;
static pid_t last;	/* child */
static struct fan_state of_guard, of_whole, of_humble;

static void mark(int fd, unsigned int flags, uint64_t mask, const char *path)
{
	CRT_SYS(fanotify_mark(fd, flags, mask, AT_FDCWD, path));
}

static void check_place(void)
{
	struct statx now;

	CRT_SYS(statx(AT_FDCWD, PLACE, 0, STATX_BASIC_STATS, &now));
	if (!(now.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		crt_skip(PLACE " is not a mount of its own");
}

/* As one that a user makes. */
static int make_humble(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct old[2], data[2];
	int fd;

	CRT_SYS(syscall(SYS_capget, &header, old));
	memcpy(data, old, sizeof(data));
	data[0].effective &= ~(1U << CAP_SYS_ADMIN);
	CRT_SYS(syscall(SYS_capset, &header, data));
	fd = (int)CRT_SYS(fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID | FAN_NONBLOCK, O_RDONLY));
	CRT_SYS(syscall(SYS_capset, &header, old));
	return fd;
}

static void setup(void)
{
	check_place();
	close((int)CRT_SYS(open(PLACE "/fan", O_CREAT | O_WRONLY, 0644)));
	guard = (int)CRT_SYS(fanotify_init(FAN_CLASS_CONTENT | FAN_UNLIMITED_QUEUE | FAN_UNLIMITED_MARKS | FAN_REPORT_TID,
					   O_RDWR | O_LARGEFILE | O_CLOEXEC));
	mark(guard, FAN_MARK_ADD | FAN_MARK_MOUNT, FAN_OPEN_PERM, PLACE);
	mark(guard, FAN_MARK_ADD, FAN_CLOSE_NOWRITE | FAN_ACCESS_PERM, crt_make_file("read", 10, 1));
	whole = (int)CRT_SYS(fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID | FAN_NONBLOCK, O_RDONLY));
	mark(whole, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_CREATE | FAN_DELETE | FAN_ONDIR, PLACE);
	mark(whole, FAN_MARK_ADD | FAN_MARK_FILESYSTEM | FAN_MARK_IGNORE_SURV, FAN_DELETE | FAN_ONDIR, PLACE);
	CRT_SYS(mkdir(crt_path("humble"), 0700));
	humble = make_humble();
	mark(humble, FAN_MARK_ADD, FAN_CREATE | FAN_ONDIR, crt_path("humble"));
	fan_look(guard, &of_guard);
	fan_look(whole, &of_whole);
	fan_look(humble, &of_humble);
}

static int change_whole(void)
{
	return mkdir(PLACE "/fandir", 0700) || rmdir(PLACE "/fandir");
}

static int change_humble(void)
{
	return mkdir(crt_path("humble/dir"), 0700);
}

static int open_place(void)
{
	return open(PLACE "/fan", O_RDONLY) < 0 ? errno : 0;
}

static int read_file(void)
{
	int fd = open(crt_path("read"), O_RDONLY);
	char byte;

	return fd < 0 || read(fd, &byte, 1) != 1 ? errno : 0;
}

/* What the child that does @act finds when it is told @response to @mask. */
static int asked(int (*act)(void), uint64_t mask, unsigned int response)
{
	struct pollfd ready = { .fd = guard, .events = POLLIN };
	struct fanotify_event_metadata event;
	struct fanotify_response answer = { .response = response };
	char name[256];
	pid_t pid = last = fan_child(act);

	if (poll(&ready, 1, 10000) != 1 || !fan_event(guard, &event, name, sizeof(name)))
		return -1;
	crt_ok(event.mask == mask && event.pid == pid, "an event waits for an answer");
	crt_same(fcntl(event.fd, F_GETFL) & O_ACCMODE, O_RDWR, "its descriptor is one for writing");
	crt_ok(fcntl(event.fd, F_GETFD) & FD_CLOEXEC, "and is closed by exec()");
	answer.fd = event.fd;
	CRT_SYS(write(guard, &answer, sizeof(answer)));
	close(event.fd);
	return fan_status(pid);
}

static void verify(void)
{
	struct pollfd ready = { .fd = guard, .events = POLLIN };
	pid_t pid;

	fan_same(guard, &of_guard, "content");
	fan_same(whole, &of_whole, "file system");
	fan_same(humble, &of_humble, "unprivileged");
	crt_ok(poll(&ready, 1, 0) == 0 && fan_quiet(whole) && fan_quiet(humble), "no event that was not caused");
	crt_same(asked(open_place, FAN_OPEN_PERM, FAN_DENY), EPERM, "a file on the mount must not be opened");
	crt_same(asked(open_place, FAN_OPEN_PERM, FAN_ALLOW), 0, "or may");
	crt_same(asked(read_file, FAN_ACCESS_PERM, FAN_DENY), EPERM, "a file must not be read");
	crt_ok(poll(&ready, 1, 10000) == 1 && fan_expect(guard, FAN_CLOSE_NOWRITE, last, NULL), "and its end is told");
	pid = fan_child(change_whole);
	crt_same(fan_status(pid), 0, "a directory comes and goes");
	crt_ok(fan_expect(whole, FAN_CREATE | FAN_ONDIR, pid, NULL), "the process that made it is told");
	crt_ok(fan_quiet(whole), "that it is gone is ignored");
	crt_same(fan_status(fan_child(change_humble)), 0, "another directory comes");
	crt_ok(fan_expect(humble, FAN_CREATE | FAN_ONDIR, 0, NULL), "the process that made it is nobody's business");
	CRT_SYS(rmdir(crt_path("humble/dir")));
}

const struct crt_test crt_test = {
	.text = "fanotify with privileges",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
