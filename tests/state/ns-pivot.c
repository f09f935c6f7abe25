// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mount namespace with a root directory of its own, as containers have it: a directory of the machine, or a new file system, with
 * pivot_root(2) or by moving it over the old one, which is gone, or still there below it.  In it are a tmpfs, a /dev, a /proc.
 */
#define _GNU_SOURCE
#include "mountinfo.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PIVOT_FLAGS
#define PIVOT_FLAGS 0
#endif

static char before[65536], now[65536], root[512], target[16];
static struct stat top;
static int in_etc, in_tmp, null, listing, alive[2], called, private;
static pid_t child;

static bool is_case(const char *name)
{
	return crt_case && !strcmp(crt_case, name);
}

static const char *in(const char *name)
{
	static char path[4][1024];
	static unsigned int next;

	next = (next + 1) % 4;
	snprintf(path[next], sizeof(path[next]), "%s%s", root, name);
	return path[next];
}

/* With all above it. */
static void make_directory(const char *path)
{
	char name[1024];

	snprintf(name, sizeof(name), "%s", path);
	for (char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(name, 0755);
		*slash = '/';
	}
	mkdir(name, 0755);
}

/* As root has it, and as users have it. */
static void make_null(void)
{
	if (PIVOT_FLAGS & CRT_ROOT) {
		CRT_SYS(mknod(in("/dev/null"), S_IFCHR | 0666, makedev(1, 3)));
	} else {
		crt_put(in("/dev/null"), "", O_CREAT);
		CRT_SYS(mount("/dev/null", in("/dev/null"), NULL, MS_BIND, NULL));
	}
}

static void fill(void)
{
	static const char *const names[] = { "/etc", "/tmp", "/dev", "/proc", "/old", "/bound" };

	if (is_case("tmpfs"))
		CRT_SYS(mount("none", root, "tmpfs", 0, "size=1m,mode=755"));
	else
		CRT_SYS(mount(root, root, NULL, MS_BIND, NULL));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		make_directory(in(names[i]));
	crt_put(in("/etc/name"), "inside", O_CREAT);
	make_directory(in(crt_dir()));
	CRT_SYS(mount(crt_dir(), in(crt_dir()), NULL, MS_BIND, NULL));
	CRT_SYS(mount("/proc", in("/proc"), NULL, MS_BIND | MS_REC, NULL));
	CRT_SYS(mount("none", in("/dev"), "tmpfs", MS_NOSUID, "size=64k,mode=755"));
	make_directory(in("/dev/pts"));
	crt_put(in("/dev/ptmx"), "", O_CREAT);
	make_null();
	CRT_SYS(mount("devpts", in("/dev/pts"), "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620"));
	CRT_SYS(mount(in("/dev/pts/ptmx"), in("/dev/ptmx"), NULL, MS_BIND, NULL));
}

static void change_root(void)
{
	CRT_SYS(chdir(root));
	if (is_case("moved")) {
		CRT_SYS(mount(".", "/", NULL, MS_MOVE, NULL));
		CRT_SYS(chroot("."));
	} else if (is_case("kept")) {
		CRT_SYS(syscall(SYS_pivot_root, ".", "old"));
	} else {
		CRT_SYS(syscall(SYS_pivot_root, ".", "."));
		CRT_SYS(umount2(".", MNT_DETACH));
	}
	CRT_SYS(chdir("/"));
}

static int bound(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = (int)CRT_SYS(socket(AF_UNIX, SOCK_DGRAM, 0));

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
	CRT_SYS(bind(fd, (struct sockaddr *)&address, sizeof(address)));
	return fd;
}

/* It ends with this process. */
static void start_child(void)
{
	char byte;

	CRT_SYS(pipe(alive));
	child = (pid_t)CRT_SYS(fork());
	if (child) {
		close(alive[0]);
		return;
	}
	close(alive[1]);
	(void)!read(alive[0], &byte, 1);
	_exit(0);
}

static void setup(void)
{
	snprintf(root, sizeof(root), "%s", crt_path("rootfs"));
	CRT_SYS(mkdir(root, 0755));
	if (getuid())
		crt_unshare_users(CLONE_NEWNS);
	else
		CRT_SYS(unshare(CLONE_NEWNS));
	CRT_SYS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	fill();
	change_root();
	CRT_SYS(mount("none", "/tmp", "tmpfs", MS_NODEV, "size=64k"));
	CRT_SYS(mount("/etc", "/bound", NULL, MS_BIND, NULL));
	CRT_SYS(mount(NULL, "/bound", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL));
	crt_put("/tmp/file", "in a tmpfs", O_CREAT);
	in_etc = (int)CRT_SYS(open("/etc/name", O_RDWR | O_CLOEXEC));
	CRT_SYS(lseek(in_etc, 2, SEEK_SET));
	in_tmp = (int)CRT_SYS(open("/tmp/file", O_RDONLY | O_CLOEXEC));
	null = (int)CRT_SYS(open("/dev/null", O_RDWR | O_CLOEXEC));
	listing = (int)CRT_SYS(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	CRT_SYS(chdir("/etc"));
	CRT_SYS(stat("/", &top));
	called = bound("/etc/socket");
	private = bound("/tmp/socket");
	start_child();
	mounts(before, sizeof(before));
}

static void contains(const char *path, const char *text)
{
	char is[64] = "";
	int fd = open(path, O_RDONLY);

	if (fd >= 0)
		CRT_SYS(read(fd, is, sizeof(is) - 1));
	close(fd);
	crt_same_str(is, text, "%s", path);
}

static void is_same(int fd, const char *path)
{
	struct stat open, named;

	crt_ok(!fstat(fd, &open) && !stat(path, &named) && open.st_ino == named.st_ino && open.st_dev == named.st_dev &&
	       open.st_rdev == named.st_rdev, "%s is what is open", path);
}

static void reaches(const char *name, int fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int from = (int)CRT_SYS(socket(AF_UNIX, SOCK_DGRAM, 0));
	char text[8] = "";

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
	crt_ok(sendto(from, "hello", 5, 0, (struct sockaddr *)&address, sizeof(address)) == 5 && read(fd, text, 5) == 5,
	       "%s is the socket that was bound there", name);
	close(from);
}

static void verify_root(const char *of)
{
	char path[64];
	struct stat is;

	snprintf(path, sizeof(path), "/proc/%s/root/.", of);
	crt_ok(!stat(path, &is) && is.st_mode == top.st_mode, "the root directory of %s", of);
	if (!is_case("tmpfs"))
		crt_ok(is.st_ino == top.st_ino && is.st_dev == top.st_dev, "is what it was");
	snprintf(path, sizeof(path), "/proc/%s/root/usr", of);
	crt_ok(access(path, F_OK) && errno == ENOENT, "nothing of the machine's is in it");
	snprintf(path, sizeof(path), "/proc/%s/root/old/usr", of);
	crt_ok(!access(path, F_OK) == is_case("kept"), "%s is where it was", path);
}

static void verify(void)
{
	char text[512];

	mounts(now, sizeof(now));
	crt_ok(!strcmp(before, now), "the same mounts with the same options");
	if (strcmp(before, now))
		crt_diag("before\n%s\nafter\n%s", before, now);
	verify_root("self");
	snprintf(target, sizeof(target), "%d", (int)child);
	verify_root(target);
	crt_same_str(getcwd(text, sizeof(text)), "/etc", "the working directory");
	contains("name", "inside");
	contains("/bound/name", "inside");
	contains("/tmp/file", "in a tmpfs");
	crt_same(lseek(in_etc, 0, SEEK_CUR), 2, "an open file is where it was");
	is_same(in_etc, "/etc/name");
	is_same(in_tmp, "/tmp/file");
	is_same(null, "/dev/null");
	is_same(listing, "/");
	reaches("/etc/socket", called);
	reaches("/tmp/socket", private);
	crt_ok(!access("/dev/ptmx", R_OK | W_OK), "pseudoterminals of its own");
	crt_ok(open("/bound/new", O_WRONLY | O_CREAT, 0600) < 0 && errno == EROFS, "a bind mount that is read-only");
}

const struct crt_test crt_test = {
	.text = "a mount namespace with a root directory of its own",
	.setup = setup,
	.verify = verify,
	.flags = PIVOT_FLAGS,
	.cases = "moved kept tmpfs",
};
