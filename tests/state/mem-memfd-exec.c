// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether a memfd can be executed: by what memfd_create() has returned it can, though that is open for writing; not when it
 * has been opened for writing once more. A process that runs from one, and has that open.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { PLAIN, DUPLICATED, MAPPED, SEALED, OPENED_AGAIN, READ_ONLY, ONLY_OPENED, KINDS };

static const char *const names[] = {
	"one", "one with two descriptors", "one that is mapped", "one with seals", "one that was opened again, for writing",
	"one that was opened again, for reading", "one whose first descriptor has been closed",
};

static int fds[KINDS], ends[2], before[KINDS];
static pid_t child;

/* What the program tells as its exit status, or why it does not run. */
static int run(int fd)
{
	char *arg[] = { "x", NULL };
	int status = -1;
	pid_t pid = (pid_t)CRT_SYS(fork());

	if (!pid) {
		execveat(fd, "", arg, arg + 1, AT_EMPTY_PATH);
		_exit(errno);
	}
	CRT_SYS(waitpid(pid, &status, 0));
	return WEXITSTATUS(status);
}

static int memfd(void)
{
	static const char script[] = "#!/bin/sh\nexit 142\n";
	int fd = (int)CRT_SYS(memfd_create("program", MFD_ALLOW_SEALING));

	CRT_SYS(write(fd, script, sizeof(script) - 1));
	return fd;
}

static int again(int fd, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return (int)CRT_SYS(open(path, flags));
}

static void pass(int to, int fd)
{
	union { struct cmsghdr head; char space[CMSG_SPACE(sizeof(int))]; } control = { 0 };
	struct iovec data = { "m", 1 };
	struct msghdr msg = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };

	control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	CRT_SYS(sendmsg(to, &msg, 0));
	CRT_SYS(close(fd));
}

static int receive(int from)
{
	union { struct cmsghdr head; char space[CMSG_SPACE(sizeof(int))]; } control = { 0 };
	char byte;
	struct iovec data = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	int fd = -1;

	CRT_SYS(recvmsg(from, &msg, MSG_DONTWAIT));
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	return fd;
}

/* It keeps the descriptor, as programs do that make sure that nobody writes to them. */
static void run_from_memfd(void)
{
	static char bytes[1 << 20];
	char *arg[] = { "sleep", "1000", NULL };
	int fd = (int)CRT_SYS(memfd_create("sleep", 0)), from = (int)CRT_SYS(open("/bin/sleep", O_RDONLY));
	ssize_t n = CRT_SYS(read(from, bytes, sizeof(bytes)));

	CRT_SYS(write(fd, bytes, (size_t)n));
	CRT_SYS(close(from));
	child = (pid_t)CRT_SYS(fork());
	if (!child) {
		execveat(fd, "", arg, environ, AT_EMPTY_PATH);
		_exit(errno);
	}
	CRT_SYS(close(fd));
}

static bool runs_from_memfd(void)
{
	char path[64], link[256] = "";

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)child);
	return readlink(path, link, sizeof(link) - 1) > 0 && !strncmp(link, "/memfd:sleep", 12);
}

static void setup(void)
{
	for (int i = 0; i < KINDS; i++)
		fds[i] = memfd();
	CRT_SYS(dup(fds[DUPLICATED]));
	CRT_MAP(mmap(NULL, crt_page(), PROT_READ | PROT_WRITE, MAP_SHARED, fds[MAPPED], 0));
	CRT_SYS(fcntl(fds[SEALED], F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK));
	again(fds[OPENED_AGAIN], O_RDWR);
	again(fds[READ_ONLY], O_RDONLY);
	CRT_SYS(dup2(again(fds[ONLY_OPENED], O_RDWR), fds[ONLY_OPENED]));
	CRT_SYS(lseek(fds[PLAIN], 3, SEEK_SET));
	CRT_SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	pass(ends[0], memfd());
	run_from_memfd();
	for (int i = 0; i < KINDS; i++)
		before[i] = run(fds[i]);
	if (before[PLAIN] != 142 || before[OPENED_AGAIN] != ETXTBSY)
		crt_die("a memfd cannot be executed (%d), or can (%d)", before[PLAIN], before[OPENED_AGAIN]);
	while (!runs_from_memfd())
		crt_sleep_ms(10);
}

static void verify(void)
{
	for (int i = 0; i < KINDS; i++)
		crt_same(run(fds[i]), before[i], "%s", names[i]);
	crt_same(run(receive(ends[1])), 142, "one in a message");
	crt_same(lseek(fds[PLAIN], 0, SEEK_CUR), 3, "its position");
	crt_same(fcntl(fds[PLAIN], F_GETFL) & O_ACCMODE, O_RDWR, "it is open for reading and writing");
	crt_same(pwrite(fds[PLAIN], "#", 1, 0), 1, "it can be written");
	crt_ok(runs_from_memfd(), "a process runs from one that it has open");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

const struct crt_test crt_test = {
	.text = "execution of memfds",
	.setup = setup,
	.verify = verify,
};
