// SPDX-License-Identifier: GPL-2.0-only
/*
 * Another process adds and removes watches of an inotify instance while it is captured: the checkpoint tries again, not for ever,
 * and refuses by name.  When the other process does not run at that moment, it may succeed: so it is asked for more than once.
 */
#include "restarting.h"
#include <sys/inotify.h>

#define WATCHES 300
#define ATTEMPTS 200

static char directory[] = "/tmp/cryo-watches-XXXXXX";

static const char *path_of(int i)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%d", directory, i);
	return path;
}

/* Not in the checkpoint: a child of this program's. */
static pid_t change_watches(int fd)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		inotify_rm_watch(fd, inotify_add_watch(fd, path_of(0), IN_CLOSE));
}

static pid_t sleep_for_ever(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* 0, or an errno value with the log in @log. */
static int checkpoint(pid_t target, char *log, size_t room)
{
	struct cryo_checkpoint c = { .size = sizeof(c), .flags = CRYO_CKPT_DRY_RUN, .target = target };
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), fd = ioctl(dev, CRYO_IOC_CHECKPOINT, &c), err;
	ssize_t n;

	if (fd < 0)
		die("CRYO_IOC_CHECKPOINT");
	err = ioctl(fd, CRYO_CKPT_RUN) ? errno : 0;
	n = read(fd, log, room - 1);
	log[n > 0 ? n : 0] = 0;
	close(fd);
	close(dev);
	return err;
}

int main(void)
{
	int fd = inotify_init1(IN_NONBLOCK), err = 0, n;
	pid_t target, changer;
	char log[4096], text[128];

	if (!mkdtemp(directory))
		die("mkdtemp");
	for (int i = 0; i < WATCHES; i++) {
		int file = open(path_of(i), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		if (file < 0 || (i && inotify_add_watch(fd, path_of(i), IN_MODIFY) < 0))
			die("inotify_add_watch");
		close(file);
	}
	target = sleep_for_ever();
	err = checkpoint(target, log, sizeof(log));
	is_error(err, 0, "watches that do not change");

	changer = change_watches(fd);
	snprintf(text, sizeof(text), "pid %d (changing-watche): fd %d (inotify): its watches keep changing: try again", target, fd);
	for (n = 0; n < ATTEMPTS && !err; n++)
		err = checkpoint(target, log, sizeof(log));
	ok(err && strstr(log, text), "watches that change: %s", text);
	printf("# attempt %d: %s: %s\n", n, strerror(err), log);

	kill(changer, SIGKILL);
	waitpid(changer, NULL, 0);
	err = checkpoint(target, log, sizeof(log));
	is_error(err, 0, "and when they do not change any more");
	for (int i = 0; i < WATCHES; i++)
		unlink(path_of(i));
	rmdir(directory);
	return finish();
}
