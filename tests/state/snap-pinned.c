// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages that something outside has hold of, for I/O or the like, stay the process's own: what it writes to
 * them after a snapshot has to be seen there.  Here a pipe has them (vmsplice()).
 */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE	((size_t)4096)
#define HUGE	((size_t)2 << 20)

static const struct {
	const char *name;
	int advice;
	size_t offset;
} kinds[] = {
	{ "a page", MADV_NOHUGEPAGE, 0 },
	{ "the first page of a huge one", MADV_HUGEPAGE, 0 },
	{ "one inside of a huge one", MADV_HUGEPAGE, 77 * PAGE },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static unsigned char *page[KINDS];
static int from[KINDS];

static unsigned char *make_memory(int advice)
{
	unsigned char *p = CRT_MAP(mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	p = (unsigned char *)(((uintptr_t)p + HUGE - 1) & ~(HUGE - 1));
	madvise(p, HUGE, advice);
	memset(p, 1, HUGE);
	return p;
}

static void setup(void)
{
	for (size_t i = 0; i < KINDS; i++) {
		struct iovec vec = { .iov_len = PAGE };
		char value[64] = "";
		int fds[2];

		page[i] = make_memory(kinds[i].advice) + kinds[i].offset;
		crt_smaps(page[i], "AnonHugePages", value, sizeof(value));
		crt_diag("%s: AnonHugePages %s", kinds[i].name, value);
		vec.iov_base = page[i];
		CRT_SYS(pipe(fds));
		CRT_SYS(vmsplice(fds[1], &vec, 1, 0));
		from[i] = fds[0];
	}
}

static void verify(void)
{
	unsigned char got[PAGE];

	for (size_t i = 0; i < KINDS; i++) {
		crt_fill(page[i], PAGE, 9 + i);
		crt_same(read(from[i], got, PAGE), (long long)PAGE, "%s is in the pipe", kinds[i].name);
		crt_same(crt_bad(got, PAGE, 9 + i), -1, "... with what was written to it after the checkpoint");
		crt_same(page[i][-(long)kinds[i].offset + (long)HUGE - 1], 1, "... and the memory around is as it was");
	}
}

const struct crt_test crt_test = {
	.text = "a snapshot leaves pages alone that others have hold of",
	.setup = setup,
	.verify = verify,
	.flags = CRT_NO_RESTART,
	.checkpoint_args = "--snapshot",
};
