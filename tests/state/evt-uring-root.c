// SPDX-License-Identifier: GPL-2.0-only
/* io_uring: a thread of the kernel that submits (IORING_SETUP_SQPOLL) has the credentials of its process, not of cr_restart. */
#define _GNU_SOURCE
#include "uring.h"
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define UID 4711
#define GID 4712

static struct uring ring;
static char secret[256], open_path[256];

static int open_by_ring(const char *path)
{
	struct io_uring_sqe *sqe;
	uint64_t user;
	int rc;

	sqe = uring_add(&ring, IORING_OP_OPENAT, AT_FDCWD, (void *)(uintptr_t)path, 0, 5);
	sqe->open_flags = O_RDONLY;
	uring_wake(&ring, 1);
	while ((rc = uring_take(&ring, &user)) == -ENOENT && user == 0)
		crt_sleep_ms(1);
	return rc;
}

/* Of all threads of the process, those of the kernel too: how many, and how many of them have not these ids. */
static int threads(int *wrong)
{
	static char status[8192];
	char path[300], ids[64];
	struct dirent *entry;
	DIR *dir = opendir("/proc/self/task");
	int n = 0;

	*wrong = 0;
	snprintf(ids, sizeof(ids), "\nUid:\t%d\t%d\t%d\t%d\nGid:\t%d\t%d\t%d\t%d\n", UID, UID, UID, UID, GID, GID, GID, GID);
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		if (entry->d_name[0] == '.' || !crt_slurp(path, status, sizeof(status)))
			continue;
		n++;
		*wrong += !strstr(status, ids);
	}
	if (dir)
		closedir(dir);
	return n;
}

static void setup(void)
{
	gid_t groups[] = { 100, 200 };
	int wrong, fd;

	snprintf(secret, sizeof(secret), "%s", crt_make_file("secret", 4, 1));
	CRT_SYS(chmod(secret, 0600));
	snprintf(open_path, sizeof(open_path), "%s", crt_make_file("open", 4, 1));
	CRT_SYS(chmod(crt_dir(), 0777));
	CRT_SYS(setgroups(2, groups));
	CRT_SYS(setresgid(GID, GID, GID));
	CRT_SYS(setresuid(UID, UID, UID));
	CRT_SYS(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	if (!uring_make_by(&ring, 4, (struct io_uring_params){ .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 20 }))
		crt_skip("no rings that the kernel polls: %s", strerror(errno));
	fd = open_by_ring(open_path);
	CRT_SYS(close(fd));
	if (open_by_ring(secret) != -EACCES || threads(&wrong) != 2 || wrong)
		crt_die("the thread of the kernel is not as expected");
}

static void verify(void)
{
	int wrong, fd;

	crt_same(threads(&wrong), 2, "the process has a thread of the kernel");
	crt_same(wrong, 0, "its ids are those of the process");
	crt_same(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 1, "PR_SET_DUMPABLE");
	fd = open_by_ring(open_path);
	crt_ok(fd >= 0 && close(fd) == 0, "it opens what the process may open");
	crt_same(open_by_ring(secret), -EACCES, "and nothing that only root may");
}

const struct crt_test crt_test = {
	.text = "io_uring: the credentials of a thread of the kernel that submits",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
