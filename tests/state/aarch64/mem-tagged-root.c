// SPDX-License-Identifier: GPL-2.0-only
/* Tags (PROT_MTE) of memory that is in swap space: private and shared, mapped and not. */
#define _GNU_SOURCE
#include "tagged.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/swap.h>

#define SWAP_FILE	"/var/tmp/cryo-test-swap-tags"
#define SWAP_SIZE	((off_t)32 << 20)
#define PAGES		512U

static size_t page;
static char *private, *mapped;
static int fd;

static unsigned int tag_of(unsigned int seed, size_t offset)
{
	return (unsigned int)(offset / page * 3 + offset / GRANULE % 2 + seed) & 15;
}

static void set_tags(char *start, unsigned int seed)
{
	for (size_t at = 0; at < PAGES * page; at += GRANULE)
		set_tag(start + at, tag_of(seed, at));
}

static long bad_tag(const char *start, unsigned int seed)
{
	for (size_t at = 0; at < PAGES * page; at += GRANULE)
		if (get_tag(start + at) != tag_of(seed, at))
			return (long)at;
	return -1;
}

/* As mkswap(8) makes it: version, last page, and a magic word at the end of the first page. */
static void start_swap(void)
{
	uint32_t head[2] = { 1, (uint32_t)((size_t)SWAP_SIZE / page - 1) };
	int file;

	swapoff(SWAP_FILE);	/* of a run that has not come to its end */
	file = (int)CRT_SYS(open(SWAP_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	CRT_SYS(posix_fallocate(file, 0, SWAP_SIZE) ? -1 : 0);
	CRT_SYS(pwrite(file, head, sizeof(head), 1024));
	CRT_SYS(pwrite(file, "SWAPSPACE2", 10, (off_t)page - 10));
	CRT_SYS(fsync(file));
	CRT_SYS(close(file));
	if (!swapon(SWAP_FILE, 0))
		return;
	if (errno == ENOSYS)
		crt_skip("this kernel has no swap space");
	crt_die("swapon %s", SWAP_FILE);
}

static long swap_of(const void *start)
{
	char text[64];
	long kib = 0;

	if (crt_smaps(start, "Swap", text, sizeof(text)))
		sscanf(text, "%ld", &kib);
	return kib;
}

static void page_out(char *start, const char *what)
{
	for (int i = 0; i < 100 && swap_of(start) < (long)(PAGES * page / 2048); i++) {
		CRT_SYS(madvise(start, PAGES * page, MADV_PAGEOUT));
		crt_sleep_ms(50);
	}
	crt_ok(swap_of(start) > 0, "%s: is in the swap space (%ld KiB)", what, swap_of(start));
}

static char *map(int flags, int file)
{
	return CRT_MAP(mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE | TAGS, flags, file, 0));
}

static void setup(void)
{
	char *start;

	need_tags();
	page = crt_page();
	start_swap();
	private = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	crt_fill(private, PAGES * page, 3);
	set_tags(private, 1);
	mapped = map(MAP_SHARED | MAP_ANONYMOUS, -1);
	crt_fill(mapped, PAGES * page, 4);
	set_tags(mapped, 2);
	fd = (int)CRT_SYS(memfd_create("tagged", 0));
	CRT_SYS(ftruncate(fd, (off_t)(PAGES * page)));
	start = map(MAP_SHARED, fd);
	crt_fill(start, PAGES * page, 5);
	set_tags(start, 3);
	page_out(private, "private memory");
	page_out(mapped, "shared memory");
	page_out(start, "a memfd");
	CRT_SYS(munmap(start, PAGES * page));
}

static void look_at(const char *what, const char *start, unsigned int seed)
{
	crt_same(bad_tag(start, seed), -1, "%s: the first wrong tag", what);
	crt_same(crt_bad(start, PAGES * page, seed + 2), -1, "%s: the first wrong byte", what);
}

static void verify(void)
{
	look_at("private memory", private, 1);
	look_at("shared memory", mapped, 2);
	look_at("a memfd that was not mapped", map(MAP_SHARED, fd), 3);
	swapoff(SWAP_FILE);
	unlink(SWAP_FILE);
}

const struct crt_test crt_test = {
	.text = "tags of memory (PROT_MTE) that is in swap space",
	.setup = setup,
	.verify = verify,
	.flags = CRT_ROOT,
};
