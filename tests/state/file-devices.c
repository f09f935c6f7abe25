// SPDX-License-Identifier: GPL-2.0-only
/* The devices that have no state: null, zero, full, random, urandom. */
#define _GNU_SOURCE
#include "crtest.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const paths[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom" };
enum { DEV_NULL, DEV_ZERO, DEV_FULL, DEV_RANDOM, DEV_URANDOM, DEVICES };

static int fd[DEVICES];
static dev_t rdev[DEVICES];
static unsigned char *map;

static void setup(void)
{
	struct stat st;

	for (int i = 0; i < DEVICES; i++) {
		fd[i] = (int)CRT_SYS(open(paths[i], i == DEV_RANDOM ? O_RDONLY : O_RDWR));
		CRT_SYS(fstat(fd[i], &st));
		rdev[i] = st.st_rdev;
	}
	map = CRT_MAP(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd[DEV_ZERO], 0));
	map[4096] = 9;
}

static void verify(void)
{
	char buf[64], zero[64] = "";
	struct stat st;

	for (int i = 0; i < DEVICES; i++) {
		crt_ok(!fstat(fd[i], &st) && st.st_rdev == rdev[i], "%s is that device", paths[i]);
	}
	crt_same(write(fd[DEV_NULL], "abc", 3), 3, "/dev/null takes");
	crt_same(read(fd[DEV_NULL], buf, 3), 0, "and gives nothing");
	memset(buf, 1, sizeof(buf));
	crt_ok(read(fd[DEV_ZERO], buf, 64) == 64 && !memcmp(buf, zero, 64), "/dev/zero gives zeros");
	errno = 0;
	crt_ok(write(fd[DEV_FULL], "x", 1) == -1 && errno == ENOSPC, "/dev/full is full");
	crt_ok(read(fd[DEV_RANDOM], buf, 16) == 16 && memcmp(buf, zero, 16), "/dev/random gives");
	crt_ok(read(fd[DEV_URANDOM], buf, 16) == 16 && memcmp(buf, zero, 16), "/dev/urandom gives");
	crt_ok(map[4096] == 9 && map[0] == 0, "a private mapping of /dev/zero");
}

const struct crt_test crt_test = {
	.text = "devices without state",
	.setup = setup,
	.verify = verify,
};
