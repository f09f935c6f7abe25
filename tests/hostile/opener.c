// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a process has opened, and what a set-user-id program that it has executed has from it.
 *
 *	opener KIND DIR [PROGRAM]	opens something of KIND in DIR, as descriptor 7. With PROGRAM, a set-user-id copy of this one, a child
 *					executes that, and has it alone; of kind "mem" it is the child's memory, which the parent keeps.
 *					Prints "ready"; once there is a file DIR.go, whoever has it uses it, and says "used" or why not.
 *	kinds: fifo, out (appended to), socket (bound), cwd, mem, own-mem
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HELD = 7 };

static volatile uint64_t word = 1234567890123456789;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void hold(int fd, const char *what)
{
	if (fd < 0 || dup2(fd, HELD) != HELD)
		fail(what);
	if (fd != HELD)
		close(fd);
}

static int bound_socket(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (strlen(path) >= sizeof(at.sun_path))
		fail("a path too long");
	memcpy(at.sun_path, path, strlen(path) + 1);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 5))
		fail(path);
	return fd;
}

static void open_it(const char *kind, const char *dir, pid_t child)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/d/%s", dir, kind);
	if (!strcmp(kind, "fifo")) {
		if (mkfifo(path, 0644))
			fail(path);
		hold(open(path, O_RDWR), path);
	} else if (!strcmp(kind, "out")) {
		hold(open(path, O_WRONLY | O_APPEND), path);
	} else if (!strcmp(kind, "socket")) {
		hold(bound_socket(path), path);
	} else if (!strcmp(kind, "cwd")) {
		if (mkdir(path, 0755) || chdir(path))
			fail(path);
	} else {
		snprintf(path, sizeof(path), "/proc/%d/mem", strcmp(kind, "mem") ? getpid() : child);
		hold(open(path, O_RDWR), path);
	}
}

/* As whoever this is by now. */
static int use(const char *kind, const char *dir)
{
	char go[4096];

	snprintf(go, sizeof(go), "%s.go", dir);
	while (access(go, F_OK))
		usleep(50000);
	if (!strcmp(kind, "cwd")) {
		int fd = open("made-here", O_WRONLY | O_CREAT, 0644);

		puts(fd < 0 ? strerror(errno) : "used");
	} else if (strstr(kind, "mem")) {
		uint64_t read_word = 0;

		puts(pread(HELD, &read_word, sizeof(read_word), (off_t)(uintptr_t)&word) == sizeof(read_word) &&
		     read_word == word ? "used" : "not the memory");
	} else if (!strcmp(kind, "socket")) {
		puts(listen(HELD, 6) ? strerror(errno) : "used");
	} else {
		puts(write(HELD, "of the job\n", 11) == 11 ? "used" : strerror(errno));
	}
	fflush(stdout);
	return 0;
}

static pid_t start_child(const char *kind, const char *dir, const char *program, int ready[2])
{
	pid_t child = fork();
	char byte;

	if (child)
		return child;
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		_exit(1);
	if (strcmp(kind, "mem"))
		open_it(kind, dir, 0);
	execl(program, program, "child", kind, dir, NULL);
	fail(program);
	return 0;
}

int main(int argc, char **argv)
{
	int ready[2];
	pid_t child = 0;

	if (argc == 4 && !strcmp(argv[1], "child")) {
		if (setresuid(0, 0, 0))
			fail("setresuid");
		puts("ready");
		fflush(stdout);
		return use(argv[2], argv[3]);
	}
	if (argc < 3)
		return 2;
	if (argc == 4) {
		if (pipe(ready))
			fail("pipe");
		child = start_child(argv[1], argv[2], argv[3], ready);
		if (!strcmp(argv[1], "mem"))
			open_it(argv[1], argv[2], child);
		if (write(ready[1], "x", 1) != 1)
			fail("pipe");
		close(ready[0]);
		close(ready[1]);
		if (strcmp(argv[1], "mem")) {
			waitpid(child, NULL, 0);
			return 0;
		}
	} else {
		open_it(argv[1], argv[2], 0);
		puts("ready");
		fflush(stdout);
	}
	use(argv[1], argv[2]);
	if (child)
		waitpid(child, NULL, 0);
	return 0;
}
