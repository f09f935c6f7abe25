// SPDX-License-Identifier: GPL-2.0-only
/* Working directory and umask. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char before[PATH_MAX];

static void setup(void)
{
	CRT_SYS(mkdir(crt_path("a directory"), 0700));
	CRT_SYS(chdir(crt_path("a directory")));
	CRT_SYS(umask(0351));
	if (!getcwd(before, sizeof(before)))
		crt_die("getcwd: %m");
}

static void verify(void)
{
	char now[PATH_MAX] = "";
	struct stat st = { 0 };
	int fd;

	crt_same_str(getcwd(now, sizeof(now)) ? now : "none", before, "working directory");
	fd = open("relative", O_CREAT | O_RDWR, 0777);
	crt_ok(fd >= 0 && !fstat(fd, &st), "a relative path works");
	crt_same(st.st_mode & 0777, 0777 & ~0351, "mode of a new file");
	crt_same(access(crt_path("a directory/relative"), F_OK), 0, "it is where it should be");
	unlink("relative");
	crt_same(umask(0), 0351, "umask");
}

const struct crt_test crt_test = {
	.text = "working directory and umask",
	.setup = setup,
	.verify = verify,
};
