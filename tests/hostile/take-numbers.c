// SPDX-License-Identifier: GPL-2.0-only
/*
 * take-numbers: sets the next pid and the next id of shared memory in a loop, until it is killed (for tests/hostile/chosen-numbers).
 * Other threads of it keep the lock of that id busy: they change segments, and read the list of all.
 * They make none: who does gets what was set last, whoever has set it.
 * take-numbers job FILE: has a segment of shared memory and children, and writes a line to FILE ten times a second.
 */
#include <cryo/ioctl.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

static int job(const char *path)
{
	int id = shmget(IPC_PRIVATE, 4096, 0600);
	FILE *out = fopen(path, "a");

	if (id < 0 || !out || shmat(id, NULL, 0) == (void *)-1)
		return 1;
	for (int i = 0; i < 24; i++)
		if (fork() == 0)
			for (;;)
				pause();
	for (;;) {
		fprintf(out, "%d %d\n", getpid(), id);
		fflush(out);
		usleep(100000);
	}
}

static void *change_segments(void *unused)
{
	struct shmid_ds none = {};

	(void)unused;
	/* There is none with this id, which is looked for with the lock. */
	for (;;)
		shmctl(32767, IPC_SET, &none);
	return NULL;
}

static void *read_list(void *unused)
{
	int list = open("/proc/sysvipc/shm", O_RDONLY);
	char text[4096];

	(void)unused;
	while (list >= 0 && pread(list, text, sizeof(text), 0) >= 0)
		;
	return NULL;
}

static int keep_lock_busy(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, change_segments, NULL) || pthread_create(&thread, NULL, read_list, NULL);
}

int main(int argc, char **argv)
{
	struct cryo_pid_cursor cursor = { .size = sizeof(cursor) };
	struct cryo_ipc_id id = { .size = sizeof(id), .kind = CRYO_IPC_KIND_SHM, .id = 4096 };
	int dev;

	if (argc == 3 && !strcmp(argv[1], "job"))
		return job(argv[2]);
	dev = open("/dev/cryo", O_RDWR);
	if (dev < 0) {
		perror("/dev/cryo");
		return 1;
	}
	if (keep_lock_busy()) {
		fprintf(stderr, "no threads\n");
		return 1;
	}
	for (;;) {
		cursor.pid = 20000;
		if (ioctl(dev, CRYO_IOC_PID_CURSOR, &cursor)) {
			perror("CRYO_IOC_PID_CURSOR");
			return 1;
		}
		ioctl(dev, CRYO_IOC_IPC_ID, &id);
	}
}
