// SPDX-License-Identifier: GPL-2.0-only
/*
 * left - freezes that are given up while threads sleep uninterruptibly, in calls that have not begun to wait for what they are there for
 *
 *	left FILE	FILE is one of which no page can be read for now. Tells what comes of it as TAP, without a plan, then "held"; waits for
 *			a line, before which the pages can be read again, and tells the rest.
 *
 * As root.  The works of these freezes are left with the threads; they are charged to who made the requests, and they are bounded.
 */
#include "restarting.h"

#include <sys/ipc.h>
#include <sys/sem.h>

#define GROUP "/sys/fs/cgroup/left"
#define SLEEPERS 8
#define FREEZES 400		/* so many works for each of them, if nobody counts them */

static unsigned long charged(void)
{
	char line[256];
	unsigned long value = 0;
	FILE *file = fopen(GROUP "/memory.stat", "r");

	if (!file)
		die(GROUP);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "slab ", 5))
			value = strtoul(line + 5, NULL, 10);
	fclose(file);
	return value;
}

/* Operations that are all zero: waits until the semaphore is. Exits with the errno value. */
static void sleeper(struct sembuf *ops, int sem)
{
	_exit(syscall(SYS_semtimedop, sem, ops, 1, NULL) ? errno : 0);
}

/* In the middle of the call: the one who asks the file system for the page does so interruptibly until somebody interrupts it. */
static unsigned int asleep(const pid_t *pids)
{
	unsigned int n = 0;

	for (int i = 0; i < SLEEPERS; i++)
		n += process_state(pids[i]) == 'D';
	return n;
}

static pid_t start_sleepers(const char *path, int sem, pid_t *pids)
{
	/* By nobody else: its server answers one after the other. */
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct sembuf *ops = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	pid_t group = 0;

	if (fd < 0 || ops == MAP_FAILED)
		die(path);

	for (int i = 0; i < SLEEPERS; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			die("fork");
		if (!pids[i]) {
			setpgid(0, group);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			sleeper(ops, sem);
		}
		group = group ? group : pids[i];
		setpgid(pids[i], group);
	}
	return group;
}

/* 0, or the errno value. */
static int freeze_in_vain(int dev, pid_t group, int out)
{
	struct cryo_checkpoint args = { .size = sizeof(args), .target = group, .scope = CRYO_SCOPE_PGRP, .out_fd = out, .freeze_ms = 1 };
	int fd = ioctl(dev, CRYO_IOC_CHECKPOINT, &args), err;

	if (fd < 0)
		return errno;
	err = ioctl(fd, CRYO_CKPT_RUN, NULL) ? errno : 0;
	close(fd);
	return err;
}

static void freezes(pid_t group)
{
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), out = open("/dev/null", O_WRONLY | O_CLOEXEC), other = 0, err;
	unsigned long before, half = 0, after;

	if (dev < 0 || out < 0)
		die(CRYO_DEVICE_PATH);
	before = charged();
	for (int i = 0; i < FREEZES; i++) {
		if (i == FREEZES / 2)
			half = charged();
		err = freeze_in_vain(dev, group, out);
		if (err != ETIMEDOUT)
			other = err ? err : 1000;
	}
	after = charged();
	close(dev);
	close(out);
	printf("# %d freezes of %d threads; the group had %lu KiB of kernel memory, %lu KiB after half of them, and has %lu KiB\n", FREEZES,
	       SLEEPERS, before >> 10, half >> 10, after >> 10);
	ok(!other, "freezes of threads in uninterruptible sleep are given up (%d: %s)", other, strerror(other));
	ok(after > before, "what is left is charged to who asked");
	/* The first 128 have left as much as there may be. */
	ok(after < half + half / 4, "... and is bounded");
}

int main(int argc, char **argv)
{
	pid_t pids[SLEEPERS], group;
	int status, sem, wrong = 0;
	char line[16];

	if (argc != 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	put_text("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if (mkdir(GROUP, 0755) && errno != EEXIST)
		die(GROUP);
	sem = semget(IPC_PRIVATE, 1, 0600);
	if (sem < 0 || semctl(sem, 0, SETVAL, 1))
		die("semget");
	group = start_sleepers(argv[1], sem, pids);
	for (unsigned int n = 0; asleep(pids) < SLEEPERS - 1 && n < 500 * factor(); n++)
		sleep_ms(10);
	ok(asleep(pids) >= SLEEPERS - 1, "%d processes that wait for a page", SLEEPERS);
	put_text(GROUP "/cgroup.procs", "0");
	freezes(group);
	printf("held\n");
	if (!fgets(line, sizeof(line), stdin))
		die("no word");
	for (int i = 0; i < SLEEPERS; i++)
		for (unsigned int n = 0; process_state(pids[i]) != 'S' && process_state(pids[i]) != 'Z' && n < 500 * factor(); n++)
			sleep_ms(10);
	semctl(sem, 0, SETVAL, 0);
	for (int i = 0; i < SLEEPERS; i++) {
		if (waitpid(pids[i], &status, 0) != pids[i] || status) {
			printf("# process %d: status %#x\n", i, status);
			wrong++;
		}
	}
	ok(!wrong, "their calls begin to wait, and end, as if nothing had been");
	semctl(sem, 0, IPC_RMID);
	put_text("/sys/fs/cgroup/cgroup.procs", "0");
	rmdir(GROUP);
	return tap_bad != 0;
}
