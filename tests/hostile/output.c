// SPDX-License-Identifier: GPL-2.0-only
/*
 * A handle of a checkpoint does not hold its output file: when that has been closed, and a file that is open for reading only has come
 * to the same number, and most likely to the same place in the kernel's memory, it is no output, and the handle stays as it was.
 */
#define _GNU_SOURCE
#include <cryo/ioctl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUT = 100, ROUNDS = 200, TRIES = 20 };

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void open_at(int number, const char *path, int flags)
{
	int fd = open(path, flags, 0600);

	if (fd < 0 || dup2(fd, number) != number)
		fail(path);
	close(fd);
}

static __u32 state_of(int handle)
{
	struct cryo_ckpt_status status = { .size = sizeof(status) };

	if (ioctl(handle, CRYO_CKPT_STATUS, &status))
		fail("CRYO_CKPT_STATUS");
	return status.state;
}

/* How often something else than "no such descriptor" came of it. */
static int runs_of(int dev, pid_t target)
{
	struct cryo_checkpoint args = { .size = sizeof(args), .target = target, .out_fd = OUT };
	int handle, bad = 0;

	open_at(OUT, "output", O_RDWR | O_CREAT);
	handle = ioctl(dev, CRYO_IOC_CHECKPOINT, &args);
	if (handle < 0)
		fail("CRYO_IOC_CHECKPOINT");
	close(OUT);
	for (int i = 0; i < TRIES; i++) {
		open_at(OUT, "/etc/passwd", O_RDONLY);
		bad += !ioctl(handle, CRYO_CKPT_RUN) || errno != EBADF || state_of(handle) != CRYO_STATE_NEW;
		close(OUT);
	}
	close(handle);
	return bad;
}

int main(void)
{
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), bad = 0;
	pid_t target = fork();

	if (!target)
		for (;;)
			pause();
	if (dev < 0 || target < 0)
		fail(CRYO_DEVICE_PATH);
	for (int i = 0; i < ROUNDS; i++)
		bad += runs_of(dev, target);
	printf("1..1\n%s 1 - what is open for reading only is no output (%d times)\n", bad ? "not ok" : "ok", bad);
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	unlink("output");
	return bad > 0;
}
