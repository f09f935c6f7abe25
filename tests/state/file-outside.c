// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that the processes write to and that nobody else has, by however many ways they have them themselves: a context does not say
 * that others have them, or a restart would have them append.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SIZE 10000

static struct {
	const char *what;
	int fd;
} files[] = {
	{ "one descriptor", -1 }, { "with a copy", -1 }, { "in a message, too", -1 }, { "mapped, too", -1 }, { "opened again", -1 },
};

#define N (int)(sizeof(files) / sizeof(files[0]))

static pid_t children[2];

static int open_at_end(int i, int flags)
{
	char name[16];

	snprintf(name, sizeof(name), "out%d", i);
	files[i].fd = (int)CRT_SYS(open(crt_make_file(name, SIZE, 7), flags));
	CRT_SYS(lseek(files[i].fd, 0, SEEK_END));
	return files[i].fd;
}

static void send_fd(int to, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 'x';
	struct iovec iov = { &byte, 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	CRT_SYS(sendmsg(to, &message, 0));
}

static void child(void)
{
	for (;;)
		pause();
}

static void setup(void)
{
	char *memory;
	int pair[2];

	open_at_end(0, O_WRONLY);
	CRT_SYS(fcntl(open_at_end(1, O_WRONLY), F_DUPFD, 100));
	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	send_fd(pair[0], open_at_end(2, O_WRONLY));
	send_fd(pair[0], files[2].fd);
	/* Two areas, and three in the end. At 0, an open file of the inode that is another one's would count. */
	memory = CRT_MAP(mmap(NULL, 4 * crt_page(), PROT_READ | PROT_WRITE, MAP_SHARED, open_at_end(3, O_RDWR), 0));
	CRT_MAP(mmap(NULL, crt_page(), PROT_READ, MAP_SHARED, files[3].fd, 0));
	CRT_SYS(mprotect(memory + crt_page(), crt_page(), PROT_READ));
	CRT_SYS(dup2(files[3].fd, 0));
	files[4].fd = (int)CRT_SYS(open(crt_path("out3"), O_WRONLY));
	CRT_SYS(lseek(files[4].fd, 0, SEEK_END));
	/* A table of its own, and the same one. */
	for (int i = 0; i < 2; i++) {
		children[i] = (pid_t)CRT_SYS(syscall(SYS_clone, SIGCHLD | (i ? CLONE_FILES : 0), 0, 0, 0, 0));
		if (!children[i])
			child();
	}
}

static void verify(void)
{
	for (int i = 0; i < N; i++) {
		crt_ok(!(fcntl(files[i].fd, F_GETFL) & O_APPEND), "%s: does not append", files[i].what);
		crt_same(lseek(files[i].fd, 0, SEEK_CUR), SIZE, "%s: is at its end", files[i].what);
	}
	for (int i = 0; i < 2; i++) {
		CRT_SYS(kill(children[i], SIGKILL));
		CRT_SYS(waitpid(children[i], NULL, 0));
	}
}

const struct crt_test crt_test = {
	.text = "output that nobody else has",
	.setup = setup,
	.verify = verify,
};
