// SPDX-License-Identifier: GPL-2.0-only
/* Ten thousand descriptors: each is what it was. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define DESCRIPTORS 10000
#define FILES 50
#define SHARE 4				/* every so many descriptors is another one's duplicate */

static int fds[DESCRIPTORS];
static ino_t inodes[FILES];

static off_t place(int i)
{
	return i % SHARE == SHARE - 1 ? i - 1 : i;
}

static void setup(void)
{
	struct rlimit limit = { DESCRIPTORS + 100, DESCRIPTORS + 100 };
	char name[FILES][32];
	struct stat st;

	CRT_SYS(setrlimit(RLIMIT_NOFILE, &limit));
	for (int i = 0; i < FILES; i++) {
		snprintf(name[i], sizeof(name[i]), "file%d", i);
		CRT_SYS(stat(crt_make_file(name[i], 100, 1), &st));
		inodes[i] = st.st_ino;
	}
	for (int i = 0; i < DESCRIPTORS; i++) {
		int flags = i % 3 ? O_RDONLY : O_RDONLY | O_CLOEXEC;

		if (i % SHARE == SHARE - 1) {
			fds[i] = (int)CRT_SYS(dup(fds[i - 1]));
			continue;
		}
		fds[i] = (int)CRT_SYS(open(crt_path(name[i % FILES]), flags));
		CRT_SYS(lseek(fds[i], i, SEEK_SET));
	}
}

static void verify(void)
{
	int wrong_file = 0, wrong_place = 0, wrong_flag = 0, unshared = 0;
	struct stat st;

	for (int i = 0; i < DESCRIPTORS; i++) {
		bool shared = i % SHARE == SHARE - 1;
		bool cloexec = !shared && i % 3 == 0;

		wrong_file += fstat(fds[i], &st) || st.st_ino != inodes[(shared ? i - 1 : i) % FILES];
		wrong_place += lseek(fds[i], 0, SEEK_CUR) != place(i);
		wrong_flag += fcntl(fds[i], F_GETFD) != (cloexec ? FD_CLOEXEC : 0);
		if (shared) {
			lseek(fds[i], 7, SEEK_SET);
			unshared += lseek(fds[i - 1], 0, SEEK_CUR) != 7;
			lseek(fds[i], place(i), SEEK_SET);
		}
	}
	crt_same(wrong_file, 0, "each is the file that it was");
	crt_same(wrong_place, 0, "at its offset");
	crt_same(wrong_flag, 0, "with its close-on-exec flag");
	crt_same(unshared, 0, "and duplicates are duplicates");
}

const struct crt_test crt_test = {
	.text = "10,000 descriptors",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
