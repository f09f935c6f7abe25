// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that comes from the context when it is used first (cr_restart --map), and what a program may do to it
 * before it has come.  Without --populate nothing comes before it is asked for.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART (1UL << 19)
#define SIZE (12 * PART)

/* The others are of map-fork.c and map-uses.c. */
#ifndef CASES
#define CASES "drop wipe move grow protect unmap"
#endif

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

static unsigned char *area;
static size_t page;

static void setup(void)
{
	page = crt_page();
	area = CRT_MAP(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	for (size_t i = 0; i < SIZE / PART; i++)
		crt_fill(area + i * PART, PART, i);
}

/* Part @i of what the area had, wherever that is now. */
static bool is_there(const unsigned char *where, size_t i)
{
	return crt_bad(where, PART, i) == -1;
}

/* The page of @where is used. */
static void touch(volatile unsigned char *where)
{
	*where = *where;
}

static bool is_zero(const unsigned char *where, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (where[i])
			return false;
	return true;
}

static bool are_there(size_t first, size_t last)
{
	bool good = true;

	for (size_t i = first; i < last; i++) {
		const ssize_t bad = crt_bad(area + i * PART, PART, i);

		if (bad >= 0)
			crt_diag("part %zu: byte %zd is wrong", i, bad);
		good &= bad == -1;
	}
	return good;
}

static void verify_bytes(void)
{
	crt_same(area[5 * PART + 17], area[5 * PART + 17], "a byte can be read");
	crt_ok(are_there(0, SIZE / PART), "all bytes are there");
	area[3] ^= 1;
	area[3] ^= 1;
	crt_ok(are_there(0, 1), "and can be written");
}

static void verify_drop(void)
{
	touch(&area[0]);
	CRT_SYS(madvise(area, PART, MADV_DONTNEED));
	crt_ok(is_zero(area, PART), "dropped, of which the first page was there: zero");
	CRT_SYS(madvise(area + 4 * PART, PART, MADV_DONTNEED));
	crt_ok(is_zero(area + 4 * PART, PART), "dropped before it was used: zero");
	crt_ok(are_there(1, 4) && are_there(5, SIZE / PART), "the rest is there");
	CRT_SYS(madvise(area + 8 * PART, PART, MADV_DONTNEED));
	crt_ok(is_zero(area + 8 * PART, PART), "dropped after it was used: zero");
}

static void in_child(bool (*look)(void), const char *what)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(look() ? 0 : 1);
	if (pid > 0)
		waitpid(pid, &status, 0);
	crt_same(status, 0, "%s", what);
}

static bool look_at_all(void)
{
	return are_there(0, SIZE / PART);
}

static bool write_all(void)
{
	bool good = look_at_all();

	memset(area, 7, SIZE);
	return good;
}

static bool look_after_drop(void)
{
	return is_zero(area + 2 * PART, PART) && are_there(0, 2) && are_there(3, SIZE / PART);
}

static void verify_fork(void)
{
	touch(&area[PART]);
	in_child(write_all, "a child has all bytes, and writes over them");
	crt_ok(look_at_all(), "which the parent does not see");
	in_child(look_at_all, "a second child has them");
	CRT_SYS(madvise(area + 2 * PART, PART, MADV_DONTNEED));
	in_child(look_after_drop, "a child has what the parent has not dropped");
}

static void verify_dropfork(void)
{
	CRT_SYS(madvise(area + 2 * PART, PART, MADV_DONTNEED));
	in_child(look_after_drop, "a child of one that has dropped something");
	crt_ok(look_after_drop(), "the parent");
}

static bool wiped(void)
{
	return is_zero(area, SIZE);
}

static void verify_wipe(void)
{
	CRT_SYS(madvise(area, SIZE, MADV_WIPEONFORK));
	in_child(wiped, "MADV_WIPEONFORK: the child has zeros");
	crt_ok(look_at_all(), "the parent has all bytes");
	CRT_SYS(madvise(area, SIZE, MADV_KEEPONFORK));
	in_child(look_at_all, "MADV_KEEPONFORK: the child has them, too");
}

static void verify_move(void)
{
	unsigned char *to, *more;

	touch(&area[2 * PART]);
	to = CRT_MAP(mremap(area + 2 * PART, 2 * PART, 3 * PART, MREMAP_MAYMOVE));
	crt_ok(is_there(to, 2) && is_there(to + PART, 3), "what has moved is at the new place");
	crt_ok(is_zero(to + 2 * PART, PART), "and zero where it has become larger");
	more = CRT_MAP(mmap(area + 2 * PART, 2 * PART, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	crt_ok(is_zero(more, 2 * PART), "what is mapped at the old place is zero");
	crt_ok(are_there(0, 2) && are_there(4, SIZE / PART), "the rest is there");
	/* With this flag the kernel looks at the fifth argument, whether the caller gives one or not. */
	to = CRT_MAP(mremap(area + 8 * PART, PART, PART, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL));
	crt_ok(is_zero(area + 8 * PART, PART), "MREMAP_DONTUNMAP: the old place is zero");
	crt_ok(is_there(to, 8), "the new one is not");
	munmap(area + 9 * PART, 3 * PART);
	crt_ok(mremap(area + 7 * PART, PART, PART * 3 / 2, 0) == MAP_FAILED || is_there(area + 7 * PART, 7),
	       "beside what is gone");
}

static void verify_grow(void)
{
	unsigned char *same;

	munmap(area + 6 * PART, 6 * PART);
	same = mremap(area + 4 * PART, 2 * PART, 4 * PART, 0);
	crt_ok(same == area + 4 * PART, "grows where it is");
	crt_ok(is_zero(area + 6 * PART, 2 * PART), "over what was unmapped, which is zero");
	crt_ok(are_there(0, 6), "the rest is there");
}

static void verify_protect(void)
{
	void *fault;

	CRT_SYS(mprotect(area + 3 * PART, PART, PROT_NONE));
	CRT_SYS(mprotect(area + 5 * PART, PART, PROT_READ));
	crt_ok(crt_try_read(area + 3 * PART, &fault), "PROT_NONE: cannot be read");
	crt_ok(crt_try_write(area + 5 * PART, &fault), "PROT_READ: cannot be written");
	crt_ok(is_there(area + 5 * PART, 5), "but read");
	CRT_SYS(mprotect(area, SIZE, PROT_READ | PROT_WRITE));
	crt_ok(look_at_all(), "all bytes are there when it can be used again");
}

static void verify_unmap(void)
{
	CRT_SYS(munmap(area + 4 * PART, 2 * PART));
	crt_ok(are_there(0, 4) && are_there(6, SIZE / PART), "both sides of a hole are there");
	CRT_MAP(mmap(area + 4 * PART, 2 * PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	crt_ok(is_zero(area + 4 * PART, 2 * PART), "what is mapped into the hole is zero");
}

static void *look(void *argument)
{
	size_t bad = 0;

	(void)argument;
	for (size_t at = 0; at < SIZE; at += page)
		bad += !memcmp(area + at, "\0\0\0\0\0\0\0\0", 8);
	return (void *)bad;
}

static void verify_threads(void)
{
	pthread_t thread[8];
	size_t bad = 0;

	for (int i = 0; i < 8; i++)
		CRT_SYS(pthread_create(&thread[i], NULL, look, NULL) ? -1 : 0);
	for (int i = 0; i < 8; i++) {
		void *result;

		pthread_join(thread[i], &result);
		bad += (size_t)result;
	}
	crt_same(bad, 0, "no thread finds a page empty");
	crt_ok(look_at_all(), "all bytes are there");
}

/* The kernel and other processes use it first. */
static void verify_calls(void)
{
	unsigned char *other = CRT_MAP(mmap(NULL, 2 * PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	struct iovec to = {other, PART}, from = {area + PART, PART};
	int fd = (int)CRT_SYS(open(crt_path("bytes"), O_RDWR | O_CREAT | O_TRUNC, 0600));
	int mem;

	crt_same(write(fd, area + 2 * PART, PART), PART, "write() from it");
	crt_same(pread(fd, other, PART, 0), PART, "and back");
	crt_ok(is_there(other, 2), "has its bytes");
	crt_same(process_vm_readv(getpid(), &to, 1, &from, 1, 0), PART, "process_vm_readv()");
	crt_ok(is_there(other, 1), "has its bytes");
	mem = (int)CRT_SYS(open("/proc/self/mem", O_RDWR | O_CLOEXEC));
	crt_same(pread(mem, other, PART, (off_t)(area + 3 * PART)), PART, "/proc/self/mem");
	crt_ok(is_there(other, 3), "has its bytes");
	crt_same(pwrite(mem, "Z", 1, (off_t)(area + 4 * PART)), 1, "and is written");
	crt_same(area[4 * PART], 'Z', "which is seen");
	crt_fill(other, PART, 4);
	crt_ok(!memcmp(area + 4 * PART + 1, other + 1, PART - 1), "beside it is what was there");
	crt_same(pread(fd, area + 5 * PART + 1, 10, 0), 10, "read() into it");
	crt_fill(other, PART, 5);
	crt_ok(!memcmp(area + 5 * PART + 11, other + 11, PART - 11), "and beside it is what was there");
	crt_ok(are_there(6, SIZE / PART), "the rest is there");
	close(mem);
	close(fd);
}

static void verify_lock(void)
{
	CRT_SYS(mlock(area + PART, page));
	CRT_SYS(munlock(area + PART, page));
	CRT_SYS(madvise(area + 2 * PART, PART, MADV_WILLNEED));
	(void)!madvise(area + 3 * PART, PART, 23 /* MADV_POPULATE_WRITE */);
	(void)!madvise(area + 4 * PART, PART, 22 /* MADV_POPULATE_READ */);
	(void)!madvise(area + 4 * PART, PART, MADV_COLD);
	(void)!madvise(area + 3 * PART, 4 * PART, MADV_PAGEOUT);
	crt_ok(look_at_all(), "advice and locks change no byte");
}

static void verify_exec(void)
{
	pid_t pid;
	int status = -1;

	touch(&area[0]);
	pid = vfork();
	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	crt_same(status, 0, "another program is run");
	crt_ok(are_there(0, 2), "its bytes are there");		/* and the rest when it ends is not */
}

static const struct {
	const char *name;
	void (*verify)(void);
} cases[] = {
	{"drop", verify_drop},	     {"fork", verify_fork},	  {"dropfork", verify_dropfork},
	{"wipe", verify_wipe},	     {"move", verify_move},	  {"grow", verify_grow},
	{"protect", verify_protect}, {"unmap", verify_unmap},	  {"threads", verify_threads},
	{"calls", verify_calls},     {"lock", verify_lock},	  {"exec", verify_exec},
};

static void verify(void)
{
	if (!crt_case) {
		verify_bytes();
		return;
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(crt_case, cases[i].name))
			cases[i].verify();
}

const struct crt_test crt_test = {
	.text = "memory that comes when it is used first is what it was, whatever is done to it before",
	.setup = setup,
	.verify = verify,
	.restart_args = "--map --no-populate",
	.cases = CASES,
};
