// SPDX-License-Identifier: GPL-2.0-only
/*
 * hold-mm CONTEXT SLOW - who keeps the lock of his own memory for as long as he likes
 *
 * hold-mm SLOW - the same, two seconds after "ready", and no more: it sleeps then, with nothing that stands in the way of a checkpoint
 *
 * Maps the file SLOW, whose reads are not answered, and has a child read that through /proc/PID/mem, which waits with
 * mmap_lock.  When SIGUSR1 comes, asks for an area whose pages come from CONTEXT, for which that lock is needed.
 */
#define _GNU_SOURCE
#include "map-self.h"

#include <signal.h>
#include <sys/prctl.h>

static void read_own_parent(const char *at)
{
	char path[64], byte;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "/proc/%d/mem", getppid());
	fd = open(path, O_RDONLY);
	if (fd < 0 || pread(fd, &byte, 1, (off_t)(uintptr_t)at) < 0)
		DIE(path);
	_exit(0);
}

static char *map_slow(const char *path)
{
	int slow = open(path, O_RDONLY);
	char *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, slow, 0);

	if (at == MAP_FAILED)
		DIE(path);
	/* Or its end would wait for an answer, too. */
	close(slow);
	return at;
}

static void hold_only(const char *path)
{
	char *at = map_slow(path);

	puts("ready");
	fflush(stdout);
	if (!fork()) {
		sleep(2);
		read_own_parent(at);
	}
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	struct cryo_map_chunk chunk = { .nr_pages = 1 };
	struct cryo_map_run run = { .nr_pages = 1 };
	struct cryo_map map = {
		.size = sizeof(map), .nr_runs = 1, .nr_chunks = 1, .runs = (uintptr_t)&run, .chunks = (uintptr_t)&chunk,
	};
	int handle, signal;
	sigset_t go;
	char *at;

	if (argc == 2)
		hold_only(argv[1]);
	if (argc != 3)
		return 2;
	sigemptyset(&go);
	sigaddset(&go, SIGUSR1);
	sigprocmask(SIG_BLOCK, &go, NULL);
	handle = handle_with(argv[1]);
	map.start = run.start = (uintptr_t)new_area(4096);
	map.end = map.start + 4096;
	at = map_slow(argv[2]);
	if (!fork())
		read_own_parent(at);
	sigwait(&go, &signal);
	if (ioctl(handle, CRYO_RST_MAP, &map))
		DIE("CRYO_RST_MAP");
	return 0;
}
