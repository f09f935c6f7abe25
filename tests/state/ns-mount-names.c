// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mount namespace of one's own, as services have it, and what is not only opened there: Unix sockets at paths that are the same
 * for the machine, others in a tmpfs of the namespace, one of them through a symbolic link, one whose name has gone, a pseudo-terminal, and a working directory that has been removed.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#ifndef NAMES_FLAGS
#define NAMES_FLAGS 0
#endif

static int inside, inside_relative, inside_linked, inside_caller, inside_accepted;
static int listener, relative, gone, caller, accepted, master, slave, removed;
static char tty[64], directory[256];

static int bound(const char *name, int type)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = (int)CRT_SYS(socket(AF_UNIX, type, 0));

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
	CRT_SYS(bind(fd, (struct sockaddr *)&address, sizeof(address)));
	if (type == SOCK_STREAM)
		CRT_SYS(listen(fd, 4));
	return fd;
}

static int call(const char *name, int type)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = (int)CRT_SYS(socket(AF_UNIX, type, 0));

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	close(fd);
	return -1;
}

/* Nobody else can call these. */
static void bind_inside(void)
{
	struct timespec times[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	char before[512];

	inside = bound(crt_path("private/listener"), SOCK_STREAM);
	CRT_SYS(chmod(crt_path("private/listener"), 0750));
	inside_caller = call(crt_path("private/listener"), SOCK_STREAM);
	inside_accepted = (int)CRT_SYS(accept(inside, NULL, NULL));
	CRT_SYS(write(inside_caller, "inside", 6));
	CRT_SYS(getcwd(before, sizeof(before)) ? 0 : -1);
	CRT_SYS(mkdir("private/below", 0755));
	CRT_SYS(chdir("private/below"));
	inside_relative = bound("./relative", SOCK_DGRAM);
	CRT_SYS(symlink("below", "../link"));
	inside_linked = bound(crt_path("private//link/through"), SOCK_DGRAM);
	CRT_SYS(utimensat(AT_FDCWD, ".", times, 0));
	CRT_SYS(chdir(before));
}

static void setup(void)
{
	struct termios raw;

	snprintf(directory, sizeof(directory), "%s", crt_dir());
	CRT_SYS(mkdir("private", 0755));
	if (getuid())
		crt_unshare_users(CLONE_NEWNS);
	else
		CRT_SYS(unshare(CLONE_NEWNS));
	CRT_SYS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CRT_SYS(mount("none", "private", "tmpfs", 0, "size=64k"));
	listener = bound(crt_path("listener"), SOCK_STREAM);
	relative = bound("relative", SOCK_DGRAM);
	bind_inside();
	gone = bound(crt_path("gone"), SOCK_STREAM);
	caller = call(crt_path("gone"), SOCK_STREAM);
	accepted = (int)CRT_SYS(accept(gone, NULL, NULL));
	CRT_SYS(unlink(crt_path("gone")));
	CRT_SYS(write(caller, "on its way", 10));

	master = (int)CRT_SYS(posix_openpt(O_RDWR | O_NOCTTY));
	CRT_SYS(grantpt(master));
	CRT_SYS(unlockpt(master));
	snprintf(tty, sizeof(tty), "%s", ptsname(master));
	slave = (int)CRT_SYS(open(tty, O_RDWR | O_NOCTTY));
	CRT_SYS(tcgetattr(slave, &raw));
	raw.c_lflag &= ~(tcflag_t)ECHO;
	CRT_SYS(tcsetattr(slave, TCSANOW, &raw));

	CRT_SYS(mkdir("removed", 0700));
	removed = (int)CRT_SYS(open("removed", O_RDONLY | O_DIRECTORY));
	CRT_SYS(chdir("removed"));
	CRT_SYS(rmdir(crt_path("removed")));
}

static void verify_sockets(void)
{
	char text[32] = "";
	int fd = call(crt_path("listener"), SOCK_STREAM), other;

	other = fd < 0 ? -1 : accept(listener, NULL, NULL);
	crt_ok(other >= 0, "who calls the socket by its name comes to it");
	close(other);
	close(fd);
	fd = call(crt_path("relative"), SOCK_DGRAM);
	crt_ok(fd >= 0 && write(fd, "hello", 5) == 5 && read(relative, text, sizeof(text)) == 5 && !memcmp(text, "hello", 5),
	       "and one with a relative name");
	close(fd);
	memset(text, 0, sizeof(text));
	CRT_SYS(read(accepted, text, sizeof(text) - 1));
	crt_same_str(text, "on its way", "what was on its way by a name that has gone");
	crt_ok(access(crt_path("gone"), F_OK) && errno == ENOENT, "nothing has that name");
}

static void verify_inside(void)
{
	struct sockaddr_un address = { 0 };
	socklen_t size = sizeof(address);
	char text[32] = "";
	struct stat st;
	int fd = call(crt_path("private/listener"), SOCK_STREAM), other;

	other = fd < 0 ? -1 : accept(inside, NULL, NULL);
	crt_ok(other >= 0, "who calls the socket in the tmpfs comes to it");
	close(other);
	close(fd);
	crt_ok(!stat(crt_path("private/listener"), &st) && S_ISSOCK(st.st_mode) && (st.st_mode & 07777) == 0750, "it has its mode");
	crt_ok(!getsockname(inside, (struct sockaddr *)&address, &size) && !strcmp(address.sun_path, crt_path("private/listener")),
	       "and its name");
	CRT_SYS(recv(inside_accepted, text, sizeof(text) - 1, MSG_PEEK));
	crt_same_str(text, "inside", "what was on its way to it");
	fd = call(crt_path("private/below/relative"), SOCK_DGRAM);
	memset(text, 0, sizeof(text));
	crt_ok(fd >= 0 && write(fd, "hello", 5) == 5 && read(inside_relative, text, sizeof(text)) == 5 && !memcmp(text, "hello", 5),
	       "one with a relative name there");
	close(fd);
	memset(&address, 0, sizeof(address));
	size = sizeof(address);
	crt_ok(!getsockname(inside_relative, (struct sockaddr *)&address, &size) && !strcmp(address.sun_path, "./relative"),
	       "which it tells");
}

static void verify_linked(void)
{
	struct sockaddr_un address = { 0 };
	socklen_t size = sizeof(address);
	char text[32] = "";
	struct stat st;
	int fd = call(crt_path("private/below/through"), SOCK_DGRAM);

	crt_ok(fd >= 0 && write(fd, "hello", 5) == 5 && read(inside_linked, text, sizeof(text)) == 5 && !memcmp(text, "hello", 5),
	       "one that was bound through a link");
	close(fd);
	crt_ok(!getsockname(inside_linked, (struct sockaddr *)&address, &size) &&
	       !strcmp(address.sun_path, crt_path("private//link/through")), "which it tells");
	crt_ok(!stat(crt_path("private/below"), &st), "their directory is there");
	crt_same((long long)st.st_mtime, 1000000000, "and has its time");
}

static void verify_terminal(void)
{
	char text[32] = "", name[64] = "";
	struct stat path, open;

	crt_ok(!ttyname_r(slave, name, sizeof(name)), "the terminal has a name");
	crt_same_str(name, tty, "its own");
	crt_ok(!stat(tty, &path) && !fstat(slave, &open) && path.st_ino == open.st_ino && path.st_dev == open.st_dev,
	       "which leads to it");
	CRT_SYS(write(master, "typed\n", 6));
	CRT_SYS(read(slave, text, sizeof(text) - 1));
	crt_same_str(text, "typed\n", "what is typed is read");
}

static void verify_directory(void)
{
	struct stat here, open;

	CRT_SYS(fstat(removed, &open));
	crt_ok(!stat("/proc/self/cwd", &here) && here.st_ino == open.st_ino && here.st_dev == open.st_dev,
	       "the removed working directory is the one that is open");
	crt_same((long long)here.st_nlink, 0, "it has no name");
	crt_ok(access(crt_path("removed"), F_OK) && errno == ENOENT, "nothing has that name");
}

static void verify(void)
{
	verify_sockets();
	verify_inside();
	verify_linked();
	verify_terminal();
	verify_directory();
	crt_ok(!access(crt_path("private"), F_OK) && !strcmp(directory, crt_dir()), "in the namespace");
}

const struct crt_test crt_test = {
	.text = "sockets with names, terminals and removed working directories in a mount namespace",
	.setup = setup,
	.verify = verify,
	.flags = NAMES_FLAGS,
};
