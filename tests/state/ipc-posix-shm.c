// SPDX-License-Identifier: GPL-2.0-only
/*
 * POSIX shared memory and semaphores: names, contents, modes, sizes. What the first restart does to
 * them is undone by the second: two are unlinked, one changed. One has not been mapped yet.
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE	(6 * 4096)

static char gone_name[40], kept_name[40], bare_name[40], sem_name[40];
static char *gone, *kept, *readonly, *sparse;
static int gone_fd, bare_fd;
static sem_t *sem, *other_sem;
static pid_t child;

static char *map_new(const char *name, size_t size, int mode, int *fd)
{
	char *p;

	shm_unlink(name);
	*fd = (int)CRT_SYS(shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600));
	CRT_SYS(fchmod(*fd, (mode_t)mode));
	CRT_SYS(ftruncate(*fd, (off_t)size));
	p = CRT_MAP(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0));
	return p;
}

/* Waits for both, and then changes the memory that it shares. */
static void serve(void)
{
	CRT_SYS(close(gone_fd));
	while (sem_wait(sem))
		;
	gone[0] ^= 1;
	_exit(sem_post(other_sem) ? 2 : 6);
}

static void setup(void)
{
	int fd;

	snprintf(gone_name, sizeof(gone_name), "/crtest-gone-%d", getpid());
	snprintf(kept_name, sizeof(kept_name), "/crtest-kept-%d", getpid());
	snprintf(sem_name, sizeof(sem_name), "/crtest-sem-%d", getpid());
	gone = map_new(gone_name, SIZE, 0640, &gone_fd);
	crt_fill(gone, SIZE, 31);
	kept = map_new(kept_name, 1 << 20, 0600, &fd);
	crt_fill(kept, SIZE, 32);
	sparse = kept + (1 << 19);	/* untouched */
	CRT_SYS(close(fd));
	fd = (int)CRT_SYS(shm_open(kept_name, O_RDONLY, 0));
	readonly = CRT_MAP(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0));
	CRT_SYS(close(fd));
	snprintf(bare_name, sizeof(bare_name), "/crtest-bare-%d", getpid());
	shm_unlink(bare_name);
	bare_fd = (int)CRT_SYS(shm_open(bare_name, O_RDWR | O_CREAT | O_EXCL, 0600));
	CRT_SYS(pwrite(bare_fd, "bare", 4, 8192));
	sem_unlink(sem_name);
	sem = sem_open(sem_name, O_CREAT | O_EXCL, 0600, 0);
	other_sem = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	if (sem == SEM_FAILED || sem_init(other_sem, 1, 0))
		crt_die("no semaphore: %s", strerror(errno));
	child = (pid_t)CRT_SYS(fork());
	if (!child)
		serve();
}

/* By its name, as somebody else would find it. */
static bool found(const char *name, const char *memory, size_t size, int mode)
{
	int fd = shm_open(name, O_RDWR, 0);
	struct stat st;
	char *p;
	bool same;

	if (fd < 0 || fstat(fd, &st))
		return false;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return false;
	p[100] ^= 7;
	same = p[100] == memory[100] && (size_t)st.st_size == size && (st.st_mode & 0777) == (mode_t)mode;
	p[100] ^= 7;
	munmap(p, size);
	return same;
}

static void verify_child(void)
{
	sem_t *by_name = sem_open(sem_name, 0);		/* as another program would: a mapping of its own */
	int status;

	if (!crt_ok(by_name != SEM_FAILED, "the semaphore has its name"))
		sem_post(sem);
	crt_same(gone[0] & 1, gone[4096] & 1, "nothing has been changed yet");
	if (by_name != SEM_FAILED)
		CRT_SYS(sem_post(by_name));
	while (sem_wait(other_sem))
		;
	crt_same(gone[0] & 1, !(gone[4096] & 1), "the child has the same memory");
	CRT_SYS(waitpid(child, &status, 0));
	crt_same(WEXITSTATUS(status), 6, "and waited for the semaphore");
}

/* Between shm_open(3) and mmap(2). */
static void verify_bare(void)
{
	char text[5] = "", *p;
	struct stat st, named;
	int fd = shm_open(bare_name, O_RDONLY, 0);

	crt_ok(fd >= 0, "an object that has only a descriptor has its name");
	CRT_SYS(fstat(bare_fd, &st));
	if (fd >= 0) {
		CRT_SYS(fstat(fd, &named));
		crt_same((long)named.st_ino, (long)st.st_ino, "which is that of the descriptor");
		close(fd);
	}
	crt_same((long)st.st_size, 8196, "and its size");
	p = CRT_MAP(mmap(NULL, 12288, PROT_READ, MAP_SHARED, bare_fd, 0));
	memcpy(text, p + 8192, 4);
	crt_same_str(text, "bare", "and its contents");
	munmap(p, 12288);
	shm_unlink(bare_name);
}

static void verify(void)
{
	char old;

	crt_same(crt_bad(gone, SIZE, 31), -1, "memory, whose object has a descriptor");
	crt_same(crt_bad(kept, SIZE, 32), -1, "memory that is only mapped");
	crt_same(sparse[4096], 0, "what was never touched");
	crt_ok(found(gone_name, gone, SIZE, 0640), "the object has its name, size and mode");
	crt_ok(found(kept_name, kept, 1 << 20, 0600), "and so has the other one");
	crt_same(lseek(gone_fd, 0, SEEK_END), SIZE, "by its descriptor");
	kept[5] ^= 1;
	crt_same(readonly[5], kept[5], "mapped again, for reading");
	kept[5] ^= 1;
	gone[0] = gone[4096];
	verify_child();
	verify_bare();
	/* The next restart is from before this. */
	old = kept[0];
	memset(kept, ~old, SIZE);
	memset(sparse, 1, 8192);
	CRT_SYS(shm_unlink(gone_name));
	CRT_SYS(sem_unlink(sem_name));
}

const struct crt_test crt_test = {
	.text = "POSIX shared memory and semaphores",
	.setup = setup,
	.verify = verify,
};
