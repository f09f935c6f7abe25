// SPDX-License-Identifier: GPL-2.0-only
/* File locks: of the process, of the open file, and flock(2), as another process finds them. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

static int posix_fd, ofd_fd, flock_fd, shared_fd;

static struct flock range(short type, off_t start, off_t len)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len };
}

static void setup(void)
{
	struct flock lock = range(F_WRLCK, 100, 50), read_lock = range(F_RDLCK, 1000, 0);

	posix_fd = (int)CRT_SYS(open(crt_make_file("posix", 2000, 1), O_RDWR));
	CRT_SYS(fcntl(posix_fd, F_SETLK, &lock));
	CRT_SYS(fcntl(posix_fd, F_SETLK, &read_lock));
	ofd_fd = (int)CRT_SYS(open(crt_make_file("ofd", 2000, 1), O_RDWR));
	CRT_SYS(fcntl(ofd_fd, F_OFD_SETLK, &lock));
	flock_fd = (int)CRT_SYS(open(crt_make_file("flock", 10, 1), O_RDWR));
	CRT_SYS(flock(flock_fd, LOCK_EX));
	shared_fd = (int)CRT_SYS(open(crt_make_file("shared", 10, 1), O_RDWR));
	CRT_SYS(flock(shared_fd, LOCK_SH));
}

/* Bits: what a child of ours, who holds none of the locks, is refused. */
enum { POSIX_HELD = 1, POSIX_BEYOND = 2, POSIX_READ = 4, POSIX_READ_SHARED = 8, OFD = 16, FLOCK = 32,
       SHARED_EX = 64, SHARED_SH = 128 };

static bool refused(const char *name, struct flock lock)
{
	int fd = open(crt_path(name), O_RDWR);
	bool yes = fcntl(fd, F_SETLK, &lock) == -1;

	close(fd);
	return yes;
}

static bool flock_refused(const char *name, int how)
{
	int fd = open(crt_path(name), O_RDWR);
	bool yes = flock(fd, how | LOCK_NB) == -1;

	close(fd);
	return yes;
}

static int look(void)
{
	int bits = 0;

	bits |= refused("posix", range(F_WRLCK, 149, 1)) ? POSIX_HELD : 0;
	bits |= refused("posix", range(F_WRLCK, 150, 10)) ? POSIX_BEYOND : 0;
	bits |= refused("posix", range(F_WRLCK, 5000, 1)) ? POSIX_READ : 0;
	bits |= refused("posix", range(F_RDLCK, 1500, 1)) ? POSIX_READ_SHARED : 0;
	bits |= refused("ofd", range(F_RDLCK, 100, 1)) ? OFD : 0;
	bits |= flock_refused("flock", LOCK_SH) ? FLOCK : 0;
	bits |= flock_refused("shared", LOCK_EX) ? SHARED_EX : 0;
	bits |= flock_refused("shared", LOCK_SH) ? SHARED_SH : 0;
	return bits;
}

static void verify(void)
{
	int status = 0, bits;

	if (!fork())
		_exit(look());
	wait(&status);
	bits = WEXITSTATUS(status);
	crt_ok(WIFEXITED(status) && bits & POSIX_HELD, "POSIX write lock is held");
	crt_ok(!(bits & POSIX_BEYOND), "and goes no further");
	crt_ok(bits & POSIX_READ, "POSIX read lock to the end of the file and beyond keeps writers out");
	crt_ok(!(bits & POSIX_READ_SHARED), "but not readers");
	crt_ok(bits & OFD, "open file description lock is held");
	crt_ok(bits & FLOCK, "flock() is held");
	crt_ok(bits & SHARED_EX, "shared flock() is held");
	crt_ok(!(bits & SHARED_SH), "and shared");
	CRT_SYS(close(ofd_fd));
	crt_ok(!refused("ofd", range(F_RDLCK, 100, 1)), "closing the file drops its lock");
}

const struct crt_test crt_test = {
	.text = "file locks",
	.setup = setup,
	.verify = verify,
};
