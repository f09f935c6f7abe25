// SPDX-License-Identifier: GPL-2.0-only
/*
 * holds-up votes|threads|lock|commit - is in a call of the module that waits for what does not come, for a minute or more
 *
 *	votes	a checkpoint of a process that is told of it and does not answer
 *	threads	... of one that does not park: it waits for its child, which has its memory (vfork)
 *	lock	another thread's call on the handle of such a checkpoint
 *	commit	a restart of a thread that does not come
 *
 * Makes a file "waits" in its directory before.
 */
#define _GNU_SOURCE
#include <cryo/client.h>
#include <cryo/ioctl.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

static int device, handle;

static pid_t child(bool with_vfork)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid) {
		struct cryo_client client = { .size = sizeof(client) };

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!with_vfork && ioctl(device, CRYO_IOC_CLIENT, &client) < 0)
			_exit(2);
		if (write(ready[1], "", 1) != 1)
			_exit(2);
		if (with_vfork && !vfork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		return -1;
	return pid;
}

static void *thaw(void *unused)
{
	sleep(1);
	ioctl(handle, CRYO_CKPT_THAW, 0);
	return unused;
}

int main(int argc, char **argv)
{
	bool commit = argc > 1 && !strcmp(argv[1], "commit"), votes = argc > 1 && !strcmp(argv[1], "votes");
	struct cryo_checkpoint checkpoint = { .size = sizeof(checkpoint), .flags = CRYO_CKPT_DRY_RUN, .timeout_ms = 120000,
					      .freeze_ms = 120000 };
	struct cryo_restart restart = { .size = sizeof(restart), .threads = 1 };
	struct cryo_commit args = { .size = sizeof(args), .timeout_ms = 120000 };
	pthread_t thread;

	device = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	if (!commit)
		checkpoint.target = child(!votes);
	usleep(200000);
	handle = commit ? ioctl(device, CRYO_IOC_RESTART, &restart) : ioctl(device, CRYO_IOC_CHECKPOINT, &checkpoint);
	if (handle < 0) {
		perror("handle");
		return 2;
	}
	if (argc > 1 && !strcmp(argv[1], "lock"))
		pthread_create(&thread, NULL, thaw, NULL);
	close(open("waits", O_WRONLY | O_CREAT, 0600));
	ioctl(handle, commit ? (unsigned long)CRYO_RST_COMMIT : (unsigned long)CRYO_CKPT_RUN, &args);
	perror(argv[1]);
	return 1;
}
