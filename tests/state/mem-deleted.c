// SPDX-License-Identifier: GPL-2.0-only
/* Files behind mappings that are gone by name: unlinked, or another one put in their place. */
#define _GNU_SOURCE
#include "crtest.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE (16UL << 12)

static unsigned char *priv, *shared, *replaced, *opened;
static int fd;

static unsigned char *map(const char *name, uint64_t seed, int how, int *keep)
{
	const char *path = crt_make_file(name, SIZE, seed);
	int f = (int)CRT_SYS(open(path, O_RDWR));
	unsigned char *p = CRT_MAP(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, how, f, 0));

	if (keep)
		*keep = f;
	else
		close(f);
	return p;
}

static void setup(void)
{
	priv = map("private", 41, MAP_PRIVATE, NULL);
	shared = map("shared", 42, MAP_SHARED, NULL);
	replaced = map("replaced", 43, MAP_PRIVATE, NULL);
	opened = map("opened", 44, MAP_SHARED, &fd);
	priv[4096] = 1;
	CRT_SYS(unlink(crt_path("private")));
	CRT_SYS(unlink(crt_path("shared")));
	CRT_SYS(unlink(crt_path("opened")));
	crt_make_file("new", SIZE, 45);
	CRT_SYS(rename(crt_path("new"), crt_path("replaced")));
}

static void verify(void)
{
	static unsigned char file[SIZE];
	unsigned char byte = 0;
	int f;

	crt_same(priv[4096], 1, "private: the changed byte");
	crt_same(crt_bad(priv, 4096, 41), -1, "private: unchanged pages of the unlinked file");
	crt_same(crt_bad(shared, SIZE, 42), -1, "shared: contents of the unlinked file");
	crt_same(crt_bad(replaced, SIZE, 43), -1, "replaced: contents of the old file");
	f = (int)CRT_SYS(open(crt_path("replaced"), O_RDONLY));
	CRT_SYS(read(f, file, SIZE));
	crt_same(crt_bad(file, SIZE, 45), -1, "replaced: the new file is left alone");
	opened[4097] = 0x77;
	CRT_SYS(pread(fd, &byte, 1, 4097));
	crt_same(byte, 0x77, "the unlinked file's descriptor and mapping are one file");
	shared[0] = 3;
	crt_same(shared[0], 3, "shared: can be written");
	crt_ok(access(crt_path("private"), F_OK) && access(crt_path("shared"), F_OK) &&
	       access(crt_path("opened"), F_OK), "no unlinked file is back under its name");
}

const struct crt_test crt_test = {
	.text = "contents of deleted and replaced files behind mappings are kept",
	.setup = setup,
	.verify = verify,
};
