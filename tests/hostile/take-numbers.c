// SPDX-License-Identifier: GPL-2.0-only
/*
 * take-numbers: sets the next pid and the next id of shared memory in a loop, until it is killed (for tests/hostile/chosen-numbers).
 * Other threads of it keep the lock of that id busy: they have the memory of all segments counted, of which it has made many before.
 * take-numbers count N: sets the next id of shared memory so often, and makes a segment then; prints how many got that id.
 * take-numbers job FILE: has a segment of shared memory and children, and writes a line to FILE ten times a second.
 */
#define _GNU_SOURCE
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

static void *count_memory(void *unused)
{
	struct shm_info info;

	(void)unused;
	while (shmctl(0, SHM_INFO, (struct shmid_ds *)&info) >= 0)
		;
	return NULL;
}

static int keep_lock_busy(void)
{
	pthread_t thread;

	for (int i = 0; i < 900; i++)
		if (shmget(IPC_PRIVATE, 4096, 0600) < 0)
			break;
	return pthread_create(&thread, NULL, count_memory, NULL) || pthread_create(&thread, NULL, count_memory, NULL);
}

static int count(int dev, int rounds)
{
	int got = 0;

	for (int i = 0; i < rounds; i++) {
		struct cryo_ipc_id id = { .size = sizeof(id), .kind = CRYO_IPC_KIND_SHM, .id = 8192 + i };
		int made;

		if (ioctl(dev, CRYO_IOC_IPC_ID, &id)) {
			perror("CRYO_IOC_IPC_ID");
			return 1;
		}
		made = shmget(IPC_PRIVATE, 4096, 0600);
		got += made == id.id;
		shmctl(made, IPC_RMID, NULL);
	}
	printf("%d\n", got);
	return 0;
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
	if (argc == 3 && !strcmp(argv[1], "count"))
		return count(dev, atoi(argv[2]));
	if (keep_lock_busy()) {
		fprintf(stderr, "no threads\n");
		return 1;
	}
	puts("takes");
	fflush(stdout);
	for (;;) {
		cursor.pid = 20000;
		if (ioctl(dev, CRYO_IOC_PID_CURSOR, &cursor)) {
			perror("CRYO_IOC_PID_CURSOR");
			return 1;
		}
		ioctl(dev, CRYO_IOC_IPC_ID, &id);
	}
}
