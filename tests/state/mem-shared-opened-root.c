// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shared anonymous memory that is opened like a file, through /proc/self/map_files, and mapped once more: shared, and private
 * with pages of its own.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

static int fd, closed;
static unsigned char *shared, *own, *clean, *again, *orphan;

/* One page more than there is of it is mapped: what lies behind its end. */
static void setup(void)
{
	size_t page = crt_page();
	char path[64];
	int beside;

	shared = CRT_MAP(mmap(NULL, 5 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", (long)shared, (long)(shared + 5 * page));
	fd = (int)CRT_SYS(open(path, O_RDWR));
	crt_fill(shared, 5 * page, 81);
	own = CRT_MAP(mmap(NULL, 5 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, (off_t)page));
	own[page] = 33;
	clean = CRT_MAP(mmap(NULL, 2 * page, PROT_READ, MAP_PRIVATE, fd, 0));
	again = CRT_MAP(mmap(NULL, 5 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	CRT_SYS(lseek(fd, 123, SEEK_SET));
	/* Nothing but a private mapping is left of this one. */
	orphan = CRT_MAP(mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", (long)orphan, (long)(orphan + 2 * page));
	beside = (int)CRT_SYS(open(path, O_RDWR));
	crt_fill(orphan, 2 * page, 82);
	CRT_SYS(munmap(orphan, 2 * page));
	orphan = CRT_MAP(mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, beside, 0));
	orphan[0] = 44;
	CRT_SYS(close(beside));
	closed = beside;
}

static void verify(void)
{
	size_t page = crt_page();
	unsigned char byte = 0;
	void *fault;
	int status;

	crt_same(crt_bad(shared, 5 * page, 81), -1, "what is shared");
	crt_same(own[page], 33, "a page of its own of the private mapping");
	crt_same(own[0], shared[page], "and one that is not");
	crt_same(own[page + 1], shared[2 * page + 1], "a byte of its own page that is as it was");
	shared[3 * page] ^= 0x55;
	crt_same(own[2 * page], shared[3 * page], "which shows what is written to the shared one");
	crt_same(again[3 * page], shared[3 * page], "as does another shared mapping");
	CRT_SYS(pread(fd, &byte, 1, (off_t)(3 * page)));
	crt_same(byte, shared[3 * page], "and the descriptor");
	crt_same(lseek(fd, 0, SEEK_CUR), 123, "which has its position");
	shared[1] ^= 0x55;
	crt_same(clean[1], shared[1], "a private mapping without pages of its own");
	byte = shared[2 * page];
	own[page] = (unsigned char)(byte + 1);
	crt_same(shared[2 * page], byte, "nobody else has what is written to it");
	if (!fork())
		_exit(shared[3 * page] == own[2 * page] ? 0 : 1);
	wait(&status);
	crt_same(status, 0, "a child has the same");
	crt_same(orphan[0], 44, "a private mapping of what is mapped no more");
	crt_same(crt_try_read(own + 4 * page, &fault), SIGBUS, "behind the end there is nothing");
	crt_same(fcntl(closed, F_GETFD), -1, "its descriptor stays closed");
}

const struct crt_test crt_test = {
	.text = "shared anonymous memory that is open as a file",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
