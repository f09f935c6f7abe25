// SPDX-License-Identifier: GPL-2.0-only
/*
 * replay LOG			what a log of device mapper's log-writes has, one entry a line: its number, and "write", "flush" (it or
 *				what it is about is on the disk: a flush, FUA), or "mark TEXT"
 * replay LOG IMAGE FROM TO	does the writes from entry FROM up to, without, TO to IMAGE
 *
 * The log begins with a block that tells the size of blocks. Each entry has a block of its own, after which come those that were
 * written. The numbers are little-endian, as this machine's have to be.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC	0x6a736677736872ULL
#define VERSION	1

enum { FLUSH = 1, FUA = 2, DISCARD = 4, MARK = 8 };

struct super {
	uint64_t magic, version, entries;
	uint32_t block_size;
};

struct entry {
	uint64_t block, blocks, flags, text_size;
};

static void fail(const char *what)
{
	fprintf(stderr, "replay: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void read_all(int fd, void *to, size_t size, uint64_t at)
{
	ssize_t n = pread(fd, to, size, at);

	if (n >= 0 && (size_t)n != size)
		errno = EIO;
	if (n < 0 || (size_t)n != size)
		fail("log");
}

static void copy(int log, uint64_t from, int image, uint64_t to, uint64_t size)
{
	static char bytes[65536];

	while (size) {
		size_t part = size < sizeof(bytes) ? size : sizeof(bytes);

		read_all(log, bytes, part, from);
		if (pwrite(image, bytes, part, to) != (ssize_t)part)
			fail("image");
		from += part;
		to += part;
		size -= part;
	}
}

static void show(uint64_t number, const struct entry *entry, const char *text)
{
	if (entry->flags & MARK)
		printf("%" PRIu64 " mark %.*s\n", number, (int)entry->text_size, text);
	else
		printf("%" PRIu64 " %s\n", number, entry->flags & (FLUSH | FUA) ? "flush" : "write");
}

int main(int argc, char **argv)
{
	uint64_t number, first = 0, end = UINT64_MAX, at;
	union { struct entry entry; char bytes[4096]; } head;
	struct super super;
	int log, image = -1;

	if (argc != 2 && argc != 5)
		return 2;
	log = open(argv[1], O_RDONLY);
	if (log < 0)
		fail(argv[1]);
	if (argc == 5) {
		image = open(argv[2], O_RDWR);
		if (image < 0)
			fail(argv[2]);
		first = strtoull(argv[3], NULL, 10);
		end = strtoull(argv[4], NULL, 10);
	}
	read_all(log, &super, sizeof(super), 0);
	errno = EINVAL;
	if (super.magic != MAGIC || super.version != VERSION || super.block_size < 512 || super.block_size > sizeof(head))
		fail("no log of device mapper's log-writes");
	at = super.block_size;
	for (number = 0; number < super.entries && number < end; number++) {
		const struct entry *entry = &head.entry;
		uint64_t size;

		read_all(log, &head, super.block_size, at);
		at += super.block_size;
		size = entry->blocks * super.block_size;
		if (image < 0) {
			show(number, entry, head.bytes + sizeof(*entry));
		} else if (number >= first && entry->flags & DISCARD) {
			if (fallocate(image, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				      entry->block * super.block_size, size))
				fail("image");
		} else if (number >= first && size) {
			copy(log, at, image, entry->block * super.block_size, size);
		}
		if (!(entry->flags & DISCARD))
			at += size;
	}
	return 0;
}
