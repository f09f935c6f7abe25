// SPDX-License-Identifier: GPL-2.0-only
/* The same as refuse.c, for mounts and what is in temporary file systems: all in one mount namespace. */
#define _GNU_SOURCE
#include "refuse-run.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <sys/wait.h>

/* A directory in the run's, in a mount namespace of this process. */
static const char *place(const char *name)
{
	static bool unshared;
	const char *path = crt_path(name);

	if (!unshared) {
		CRT_SYS(unshare(CLONE_NEWNS));
		CRT_SYS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
		unshared = true;
	}
	CRT_SYS(mkdir(path, 0755));
	return path;
}

static bool expect_mount(const char *path, const char *type, const char *reason)
{
	crt_expect("pid %d|mount %s (%s): %s is not supported", getpid(), path, type, reason);
	return true;
}

static const char *tmpfs(const char *name)
{
	const char *path = place(name);

	CRT_SYS(mount("none", path, "tmpfs", 0, NULL));
	return path;
}

static const char *inner(const char *dir, const char *name)
{
	static char path[1024];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* ---- mounts ---- */

static bool make_ramfs(void)
{
	const char *path = place("ramfs");

	CRT_SYS(mount("none", path, "ramfs", 0, NULL));
	return expect_mount(path, "ramfs", "a mount that the requester does not have");
}

/* All that is left of it is a part. */
static bool make_part(void)
{
	const char *path = tmpfs("whole"), *part = place("part");

	CRT_SYS(mkdir(inner(path, "dir"), 0755));
	CRT_SYS(mount(inner(path, "dir"), part, NULL, MS_BIND, NULL));
	CRT_SYS(umount(path));
	return expect_mount(part, "tmpfs", "a mount that the requester does not have");
}

static bool make_covered(void)
{
	const char *path = tmpfs("covered");

	CRT_SYS(mount("none", path, "tmpfs", 0, NULL));
	return expect_mount(path, "tmpfs", "one that is covered by another one, and that the requester does not have");
}

/* By a part of itself, which does not show the rest. */
static bool make_covered_by_part(void)
{
	const char *path = tmpfs("coveredbypart");

	CRT_SYS(mkdir(inner(path, "dir"), 0755));
	CRT_SYS(mount(inner(path, "dir"), path, NULL, MS_BIND, NULL));
	return expect_mount(path, "tmpfs", "one that is covered by another one, and that the requester does not have");
}

static bool make_deleted_source(void)
{
	const char *path = place("source"), *where = place("target");
	struct stat st;

	/* Whatever the run's directory is on. */
	CRT_SYS(stat(path, &st));
	CRT_SYS(mount(path, where, NULL, MS_BIND, NULL));
	CRT_SYS(rmdir(path));
	crt_expect("pid %d|mount %s (|): one whose source has been deleted is not supported", getpid(), where);
	return true;
}

static bool make_devpts(void)
{
	const char *path = place("pts");
	char name[512];

	CRT_SYS(mount("none", path, "devpts", 0, "ptmxmode=0666"));
	snprintf(name, sizeof(name), "%s/ptmx", path);
	CRT_SYS(open(name, O_RDWR | O_NOCTTY));
	return expect_mount(path, "devpts", "one with pseudoterminals that are open");
}

static int mount_proc(void *path)
{
	return mount("none", path, "proc", 0, NULL) ? 1 : 0;
}

/* Of a namespace whose first process has mounted it, and is gone. */
static bool make_foreign_proc(void)
{
	static char stack[16384] __attribute__((aligned(16)));
	const char *path = place("proc");
	pid_t child = (pid_t)CRT_SYS(clone(mount_proc, stack + sizeof(stack), CLONE_NEWPID | SIGCHLD, (void *)path));
	int status;

	CRT_SYS(waitpid(child, &status, 0));
	return !status && expect_mount(path, "proc", "one of a pid namespace without a process of the job");
}

static bool make_quota(void)
{
	const char *path = place("quota");

	if (mount("none", path, "tmpfs", 0, "quota"))	/* since Linux 6.6 */
		return false;
	return expect_mount(path, "tmpfs", "a temporary file system with quotas");
}

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return written;
}

static void map_users(pid_t pid, const char *map)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	crt_check(write_text(path, map) ? 0 : -1, "uid_map");
	snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	crt_check(write_text(path, map) ? 0 : -1, "gid_map");
}

/* In a user namespace of its own; it goes when @fd is closed. Returns the namespace's descriptor. */
static int user_namespace(void)
{
	char path[64];
	int ready[2], fd;
	pid_t child;
	char byte;

	CRT_SYS(pipe(ready));
	child = (pid_t)CRT_SYS(fork());
	if (!child) {
		CRT_SYS(unshare(CLONE_NEWUSER));
		CRT_SYS(write(ready[1], "r", 1));
		for (;;)
			pause();
	}
	CRT_SYS(read(ready[0], &byte, 1));
	map_users(child, "0 0 1000");
	snprintf(path, sizeof(path), "/proc/%d/ns/user", child);
	fd = (int)CRT_SYS(open(path, O_RDONLY | O_CLOEXEC));
	kill(child, SIGKILL);
	CRT_SYS(waitpid(child, NULL, 0));
	CRT_SYS(close(ready[0]));
	CRT_SYS(close(ready[1]));
	return fd;
}

static bool make_mapped(void)
{
	const char *path = tmpfs("mapped");
	int user = user_namespace(), tree;
	struct mount_attr attr = { .attr_set = 0x00100000 /* MOUNT_ATTR_IDMAP */, .userns_fd = (uint64_t)user };

	tree = (int)CRT_SYS(syscall(SYS_open_tree, AT_FDCWD, path, 1 /* OPEN_TREE_CLONE */));
	CRT_SYS(umount(path));
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)))
		return false;				/* since Linux 6.3 */
	CRT_SYS(syscall(SYS_move_mount, tree, "", AT_FDCWD, path, 4 /* MOVE_MOUNT_F_EMPTY_PATH */));
	CRT_SYS(close(tree));
	CRT_SYS(close(user));
	return expect_mount(path, "tmpfs", "one with ids mapped, that the requester does not have");
}

/* Made in a user namespace below, and handed up as a descriptor. */
static bool make_other_owner(void)
{
	const char *path = place("owned");
	int user = user_namespace(), fds[2], fs, tree;
	pid_t child;

	CRT_SYS(pipe2(fds, O_CLOEXEC));
	child = (pid_t)CRT_SYS(syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0));
	if (!child) {
		if (setns(user, CLONE_NEWUSER) || unshare(CLONE_NEWNS))
			_exit(1);
		fs = (int)syscall(SYS_fsopen, "tmpfs", 1);
		if (fs < 0 || syscall(SYS_fsconfig, fs, 6 /* FSCONFIG_CMD_CREATE */, NULL, NULL, 0))
			_exit(2);
		tree = (int)syscall(SYS_fsmount, fs, 1, 0);
		close(fs);
		(void)!write(fds[1], &tree, sizeof(tree));
		_exit(0);
	}
	CRT_SYS(waitpid(child, NULL, 0));
	CRT_SYS(close(user));
	CRT_SYS(close(fds[1]));
	if (read(fds[0], &tree, sizeof(tree)) != sizeof(tree) || tree < 0)
		return false;
	CRT_SYS(close(fds[0]));
	if (syscall(SYS_move_mount, tree, "", AT_FDCWD, path, 4))
		return false;
	CRT_SYS(close(tree));
	return expect_mount(path, "tmpfs", "a temporary file system of another user namespace");
}

/* ---- files in temporary file systems ---- */

static bool expect_inner(const char *dir, const char *name, const char *reason)
{
	crt_expect("pid %d|mount %s: /%s: %s is not supported", getpid(), dir, name, reason);
	return true;
}

static bool make_attributes(void)
{
	const char *dir = tmpfs("attributes");
	int fd = (int)CRT_SYS(open(inner(dir, "file"), O_RDWR | O_CREAT, 0600)), flags = FS_NODUMP_FL;
	bool set = !ioctl(fd, FS_IOC_SETFLAGS, &flags);	/* since Linux 6.0 */

	CRT_SYS(close(fd));
	return set && expect_inner(dir, "file", "file with attributes of chattr(1) in a temporary file system");
}

static bool make_far(void)
{
	const char *dir = tmpfs("far");
	struct timeval times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1LL << 34 } };

	CRT_SYS(close((int)CRT_SYS(open(inner(dir, "file"), O_RDWR | O_CREAT, 0600))));
	CRT_SYS(utimes(inner(dir, "file"), times));
	return expect_inner(dir, "file", "file with a time after 2262 or before 1678 in a temporary file system");
}

static bool make_xattr(void)
{
	const char *dir = tmpfs("xattr");

	CRT_SYS(mkdir(inner(dir, "dir"), 0700));
	if (setxattr(inner(dir, "dir"), "trusted.crtest", "x", 1, 0))
		return false;
	return expect_inner(dir, "dir", "file with extended attributes in a temporary file system");
}

/* Longer than any path that can be given to a system call. */
static bool make_deep(void)
{
	const char *dir = tmpfs("deep");
	char name[251] = "";
	int fd = (int)CRT_SYS(open(dir, O_PATH)), below;

	memset(name, 'd', sizeof(name) - 1);
	for (int i = 0; i < 17; i++) {
		CRT_SYS(mkdirat(fd, name, 0700));
		below = (int)CRT_SYS(openat(fd, name, O_PATH));
		CRT_SYS(close(fd));
		fd = below;
	}
	CRT_SYS(close(fd));
	crt_expect("pid %d|mount %s: a path of more than 4096 bytes in a temporary file system is not supported",
		   getpid(), dir);
	return true;
}

static bool make_many(void)
{
	const char *dir = tmpfs("many");
	char name[32];
	int fd;

	/* By default, half as many as the machine has pages: not enough where these are large. */
	CRT_SYS(mount(NULL, dir, NULL, MS_REMOUNT, "nr_inodes=200000"));
	fd = (int)CRT_SYS(open(dir, O_PATH));
	CRT_SYS(close((int)CRT_SYS(openat(fd, "0", O_RDWR | O_CREAT, 0600))));
	for (int i = 1; i <= 100000; i++) {
		snprintf(name, sizeof(name), "%d", i);
		CRT_SYS(linkat(fd, "0", fd, name, 0));
	}
	CRT_SYS(close(fd));
	crt_expect("pid %d|mount %s: more than 100000 files in temporary file systems are not supported", getpid(), dir);
	return true;
}

/* ---- descriptors in such a namespace ---- */

static bool make_inotify(void)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct iovec part = { .iov_base = "x", .iov_len = 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	int fd, ends[2];

	place("inotify");
	fd = (int)CRT_SYS(inotify_init1(0));
	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	CRT_SYS(sendmsg(ends[0], &message, 0));
	close(fd);
	crt_expect("pid %d|inotify in a message, in a mount namespace other than the requester's, is not supported",
		   getpid());
	return true;
}

static bool make_fanotify(void)
{
	place("fanotify");
	return expect_fd(fanotify_init(FAN_CLASS_NOTIF, O_RDONLY),
			 "fanotify in a mount namespace other than the requester's");
}

/* Returns its descriptor, and its path in @path. */
static int bind_in(const char *dir, char path[108])
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = (int)CRT_SYS(socket(AF_UNIX, SOCK_DGRAM, 0));

	snprintf(name.sun_path, sizeof(name.sun_path), "%.100s", inner(dir, "name"));
	CRT_SYS(bind(fd, (struct sockaddr *)&name, sizeof(name)));
	memcpy(path, name.sun_path, sizeof(name.sun_path));
	return fd;
}

static bool make_named_socket(void)
{
	const char *dir = tmpfs("socket");
	char path[108];
	int fd = bind_in(dir, path);

	CRT_SYS(rename(path, inner(dir, "other")));
	return expect_fd(fd, "socket that may have another name by now, in another mount namespace,");
}

static bool make_linked_socket(void)
{
	const char *dir = tmpfs("linked");
	char path[108];
	int fd = bind_in(dir, path);

	CRT_SYS(link(path, inner(dir, "other")));
	return expect_fd(fd, "socket with several names in another mount namespace");
}

/* As a service manager protects the directory when the socket is there. */
static bool make_read_only_socket(void)
{
	const char *dir = tmpfs("readonly");
	char path[108];
	int fd = bind_in(dir, path);

	CRT_SYS(mount(NULL, dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL));
	return expect_fd(fd, "socket in what is mounted read-only in another mount namespace");
}

static bool make_posix_shm(void)
{
	(void)place("shm");
	CRT_SYS(mount("none", "/dev/shm", "tmpfs", 0, NULL));
	return expect_fd((int)CRT_SYS(shm_open("/refused", O_RDWR | O_CREAT, 0600)),
			 "what is not a file with a path, in a mount namespace other than the requester's,");
}

static bool make_lost_file(void)
{
	const char *dir = tmpfs("lost");
	int fd = (int)CRT_SYS(open(inner(dir, "file"), O_RDWR | O_CREAT, 0600));

	CRT_SYS(umount2(dir, MNT_DETACH));
	return expect_fd(fd, "file on a mount that no path leads to");
}

static bool make_lost_directory(void)
{
	const char *dir = tmpfs("here");

	CRT_SYS(chdir(dir));
	CRT_SYS(umount2(dir, MNT_DETACH));
	crt_expect("pid %d|thread %d: a working directory without a path in its mount namespace is not supported",
		   getpid(), getpid());
	return true;
}

/* ---- alone ---- */

static pid_t second;

static bool make_second(void)
{
	int ready[2];
	char byte;

	place("second");
	CRT_SYS(mount(NULL, "/", NULL, MS_SHARED, NULL));
	CRT_SYS(pipe(ready));
	second = (pid_t)CRT_SYS(fork());
	if (!second) {
		CRT_SYS(unshare(CLONE_NEWNS));
		CRT_SYS(write(ready[1], "r", 1));
		while (access(crt_path("go"), F_OK))
			crt_sleep_ms(20);
		_exit(0);
	}
	CRT_SYS(read(ready[0], &byte, 1));
	crt_expect("pid %d|mount / (|): propagation between mount namespaces of the job is not supported", second);
	return true;
}

/* Two parts of a file system, which see what is mounted in each other where they overlap, if the whole one comes back. */
static bool make_peers(void)
{
	const char *path = strdup(tmpfs("peers")), *one = strdup(place("one")), *other = strdup(place("other"));

	CRT_SYS(mkdir(inner(path, "one"), 0755));
	CRT_SYS(mkdir(inner(path, "other"), 0755));
	CRT_SYS(mount(NULL, path, NULL, MS_SHARED, NULL));
	CRT_SYS(mount(inner(path, "one"), one, NULL, MS_BIND, NULL));
	CRT_SYS(mount(inner(path, "other"), other, NULL, MS_BIND, NULL));
	CRT_SYS(mount(NULL, path, NULL, MS_PRIVATE, NULL));
	crt_expect("pid %d|mount %s (tmpfs): propagation between mounts of one namespace of which none shows what all others do is not supported",
		   getpid(), other);
	return true;
}

static bool works_second(void)
{
	return waitpid(second, NULL, 0) == second;
}

/* With what the test needs at its old place. */
static const char *new_root(void)
{
	const char *root = tmpfs("root"), *inside = inner(root, crt_dir());

	for (char *slash = strchr(inside + strlen(root) + 2, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(inside, 0755);
		*slash = '/';
	}
	CRT_SYS(mkdir(inside, 0755));
	CRT_SYS(mount(crt_dir(), inside, NULL, MS_BIND, NULL));
	return root;
}

/* Nothing else can be in it. */
static bool make_pivot(void)
{
	const char *path = place("terminals");
	int ready[2];
	char byte;

	CRT_SYS(pipe(ready));
	second = (pid_t)CRT_SYS(fork());
	if (!second) {
		CRT_SYS(unshare(CLONE_NEWNS));
		CRT_SYS(mount("none", path, "devpts", 0, NULL));
		CRT_SYS(chdir(path));
		CRT_SYS(syscall(SYS_pivot_root, ".", "."));
		CRT_SYS(umount2(".", MNT_DETACH));
		CRT_SYS(write(ready[1], "r", 1));
		for (;;)
			pause();
	}
	CRT_SYS(read(ready[0], &byte, 1));
	crt_expect("pid %d|mount / (devpts): a root directory other than the requester's is not supported", second);
	return true;
}

static bool make_chroot(void)
{
	CRT_SYS(chroot(new_root()));
	CRT_SYS(chdir("/"));
	crt_expect("pid %d|a mount namespace all of whose processes have another root directory (chroot) is not supported", getpid());
	return true;
}

/* Made by root from outside, as some runtimes of containers do. */
static bool make_owned_device(void)
{
	int go[2], fd;
	pid_t me = getpid(), child;
	char path[64], byte;

	CRT_SYS(pipe(go));
	child = (pid_t)CRT_SYS(fork());
	if (!child) {
		CRT_SYS(read(go[0], &byte, 1));
		map_users(me, "0 0 1000");
		CRT_SYS(read(go[0], &byte, 1));
		snprintf(path, sizeof(path), "/proc/%d/ns/mnt", me);
		fd = (int)CRT_SYS(open(path, O_RDONLY | O_CLOEXEC));
		CRT_SYS(setns(fd, CLONE_NEWNS));
		CRT_SYS(mknod("/mnt/null", S_IFCHR | 0666, makedev(1, 3)));
		_exit(0);
	}
	CRT_SYS(unshare(CLONE_NEWUSER | CLONE_NEWNS));
	CRT_SYS(write(go[1], "m", 1));
	while (getuid() || getgid())
		crt_sleep_ms(20);
	CRT_SYS(mount("none", "/mnt", "tmpfs", 0, NULL));
	CRT_SYS(write(go[1], "d", 1));
	CRT_SYS(waitpid(child, NULL, 0));
	CRT_SYS(close(go[0]));
	CRT_SYS(close(go[1]));
	return expect_inner("/mnt", "null", "device in a temporary file system of a user namespace");
}

/* Mounted by who has no number in the user namespace, and used by who has one. */
static bool make_unmapped(void)
{
	int go[2];
	pid_t me = getpid(), child;
	char byte;

	CRT_SYS(pipe(go));
	child = (pid_t)CRT_SYS(fork());
	if (!child) {
		CRT_SYS(read(go[0], &byte, 1));
		map_users(me, "0 5000 1");
		_exit(0);
	}
	CRT_SYS(unshare(CLONE_NEWUSER | CLONE_NEWNS));
	CRT_SYS(write(go[1], "g", 1));
	CRT_SYS(waitpid(child, NULL, 0));
	CRT_SYS(mount("none", "/mnt", "tmpfs", 0, NULL));
	child = (pid_t)CRT_SYS(fork());
	if (!child) {
		CRT_SYS(setresgid(0, 0, 0));
		CRT_SYS(setresuid(0, 0, 0));
		CRT_SYS(mkdir("/mnt/dir", 0755));
		_exit(0);
	}
	CRT_SYS(waitpid(child, NULL, 0));
	return expect_inner("/mnt", "", "file of a user that is not mapped in the mount namespace");
}

struct obstacle obstacles[] = {
	{ .name = "ramfs", .make = make_ramfs },
	{ .name = "part", .make = make_part },
	{ .name = "covered", .make = make_covered },
	{ .name = "covered by a part", .make = make_covered_by_part },
	{ .name = "deleted-source", .make = make_deleted_source },
	{ .name = "devpts", .make = make_devpts },
	{ .name = "foreign-proc", .make = make_foreign_proc },
	{ .name = "quota", .make = make_quota },
	{ .name = "mapped", .make = make_mapped },
	{ .name = "other-owner", .make = make_other_owner },
	{ .name = "attributes", .make = make_attributes },
	{ .name = "far", .make = make_far },
	{ .name = "xattr", .make = make_xattr },
	{ .name = "inotify", .make = make_inotify },
	{ .name = "fanotify", .make = make_fanotify },
	{ .name = "named-socket", .make = make_named_socket },
	{ .name = "linked-socket", .make = make_linked_socket },
	{ .name = "read-only-socket", .make = make_read_only_socket },
	{ .name = "posix-shm", .make = make_posix_shm },
	{ .name = "lost-file", .make = make_lost_file },
	{ .name = "lost-directory", .make = make_lost_directory },
	{ .name = "deep", .make = make_deep, .alone = true },
	{ .name = "many", .make = make_many, .alone = true },
	{ .name = "unmapped", .make = make_unmapped, .alone = true },
	{ .name = "owned-device", .make = make_owned_device, .alone = true },
	{ .name = "second", .make = make_second, .works = works_second, .alone = true },
	{ .name = "peers", .make = make_peers, .alone = true },
	{ .name = "pivot", .make = make_pivot, .alone = true },
	{ .name = "chroot", .make = make_chroot, .alone = true },
};

const unsigned int nr_obstacles = sizeof(obstacles) / sizeof(obstacles[0]);

const struct crt_test crt_test = {
	.text = "mounts and files in them that cannot be made again are refused by name",
	.setup = refuse_setup,
	.verify = refuse_verify,
	.flags = CRT_REFUSE | CRT_ROOT,
	.timeout_s = 100,		/* a hundred thousand files, on any machine */
	.cases = "deep many unmapped owned-device second peers pivot chroot",
};
