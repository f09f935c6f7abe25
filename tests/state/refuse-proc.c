// SPDX-License-Identifier: GPL-2.0-only
/* Files of /proc about threads that cannot be opened again. */
#define _GNU_SOURCE
#include "refuse-run.h"
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

struct thread {
	atomic_int tid;
	atomic_bool leave;
	pthread_t id;
};

static void *stay(void *arg)
{
	struct thread *t = arg;

	atomic_store(&t->tid, (int)syscall(SYS_gettid));
	while (!atomic_load(&t->leave))
		crt_sleep_ms(10);
	return NULL;
}

static void start(struct thread *t)
{
	CRT_SYS(-pthread_create(&t->id, NULL, stay, t));
	while (!atomic_load(&t->tid))
		crt_sleep_ms(5);
}

static int open_of(int pid, int tid, const char *name, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	return (int)CRT_SYS(open(path, flags));
}

static bool make_ended(void)
{
	static struct thread thread;
	int file, directory;
	char path[64];

	start(&thread);
	file = open_of(getpid(), thread.tid, "stat", O_RDONLY);
	directory = open_of(getpid(), thread.tid, "", O_RDONLY | O_DIRECTORY);
	atomic_store(&thread.leave, true);
	CRT_SYS(-pthread_join(thread.id, NULL));
	snprintf(path, sizeof(path), "/proc/%d/task/%d", getpid(), thread.tid);
	while (!access(path, F_OK))
		crt_sleep_ms(5);
	return expect_fd(file, "file of /proc about a thread that has ended") &&
	       expect_fd(directory, "file of /proc about a thread that has ended");
}

static void start_elsewhere(void *thread)
{
	start(thread);
}

static bool make_left_out(void)
{
	struct thread *shared = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	char path[64];

	refuse_leave_orphan(start_elsewhere, shared);
	snprintf(path, sizeof(path), "/proc/%d/stat", atomic_load(&shared->tid));
	return expect_fd((int)CRT_SYS(open(path, O_RDONLY)), "file of /proc about a thread outside the checkpoint");
}

static struct thread living;

static int open_living(const char *name)
{
	if (!living.tid)
		start(&living);
	return open_of(getpid(), living.tid, name, O_RDONLY);
}

static bool make_in_message(void)
{
	union { struct cmsghdr head; char space[CMSG_SPACE(sizeof(int))]; } control = { 0 };
	struct iovec data = { .iov_base = "m", .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	int fds[2], fd = open_living("stat");

	CRT_SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
	control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	CRT_SYS(sendmsg(fds[0], &msg, 0));
	/* Open here, too. */
	return expect_fd(fd, "file of /proc about a process that is under way in a message");
}

static bool make_watched(void)
{
	int fd = open_living("mountinfo"), epoll = (int)CRT_SYS(epoll_create1(0));
	struct epoll_event event = { .events = EPOLLPRI };

	CRT_SYS(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	crt_expect("pid %d|fd %d (epoll): watches fd %d, a file of /proc about a thread other than the first", getpid(), epoll, fd);
	return true;
}

static bool make_locked(void)
{
	CRT_SYS(flock(open_living("status"), LOCK_SH));
	crt_expect("pid %d|locks of files of /proc about threads other than the first (1 of them) are not supported", getpid());
	return true;
}

/* In the outer /proc: its number there is not chosen by a restart. */
static bool make_other_namespace(void)
{
	struct thread *shared = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	const struct dirent *entry;
	int fd = -1;
	char path[64];
	DIR *dir;
	long pid;

	pid = syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
	if (pid < 0)
		return false;
	if (!pid) {
		start(shared);
		for (;;)
			pause();
	}
	while (!atomic_load(&shared->tid))
		crt_sleep_ms(5);
	snprintf(path, sizeof(path), "/proc/%ld/task", pid);
	dir = opendir(path);
	if (!dir)
		crt_die("cannot read %s", path);
	while ((entry = readdir(dir)))
		if (atoi(entry->d_name) > 0 && atoi(entry->d_name) != pid)
			fd = open_of((int)pid, atoi(entry->d_name), "stat", O_RDONLY);
	closedir(dir);
	return fd >= 0 && expect_fd(fd, "file of a /proc of another pid namespace about a thread");
}

/* In a mount namespace of its own, so that nothing is left. */
static bool make_bound(void)
{
	char path[64];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return false;
	CRT_SYS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	start(&living);
	snprintf(path, sizeof(path), "/proc/%d/task/%d", getpid(), living.tid);
	CRT_SYS(mkdir("bound", 0700));
	CRT_SYS(mount(path, "bound", NULL, MS_BIND, NULL));
	return expect_fd((int)CRT_SYS(open("bound/stat", O_RDONLY)), "file of /proc about a thread, by a bind mount of its directory");
}

struct obstacle obstacles[] = {
	{ .name = "ended", .make = make_ended },
	{ .name = "left-out", .make = make_left_out },
	{ .name = "in-message", .make = make_in_message },
	{ .name = "watched", .make = make_watched },
	{ .name = "locked", .make = make_locked },
	{ .name = "other-namespace", .make = make_other_namespace, .alone = true },
	{ .name = "bound", .make = make_bound, .alone = true },
};

const unsigned int nr_obstacles = sizeof(obstacles) / sizeof(obstacles[0]);

const struct crt_test crt_test = {
	.text = "files of /proc about threads that do not come back are refused by name",
	.setup = refuse_setup,
	.verify = refuse_verify,
	.flags = CRT_REFUSE,
	.cases = "other-namespace bound",
};
