// SPDX-License-Identifier: GPL-2.0-only
/*
 * The same while the kernel takes pages away: to swap space, from where the writers get them back, and by merging
 * equal ones (KSM), which are written to as well.
 */
#define SNAP_WRITERS_INCLUDED
#include "snap-writers.c"

#include <errno.h>
#include <stdio.h>
#include <sys/swap.h>
#include <time.h>

#define SWAP_FILE	"/var/tmp/cryo-test-swap"
#define SWAP_SIZE	((off_t)64 << 20)
#define TWINS		256	/* equal pages */
#define COLD		1024	/* pages that are in the swap space nearly always */
#define BATCH		16	/* pages that go to the swap space at once */

static pthread_t pager;
static unsigned char *twins, *cold;

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		crt_skip("this kernel has no %s", path);
	CRT_SYS(write(fd, text, strlen(text)));
	CRT_SYS(close(fd));
}

static long number_in(const char *path, const char *format)
{
	FILE *file = fopen(path, "re");
	char line[256];
	long number = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, format, &number) == 1)
			break;
	if (file)
		fclose(file);
	return number;
}

/* As mkswap(8) makes it: version, last page, and a magic word at the end of the first page. */
static void start_swap(void)
{
	long page = CRT_SYS(sysconf(_SC_PAGESIZE));
	uint32_t head[2] = { 1, (uint32_t)(SWAP_SIZE / page - 1) };
	int fd;

	swapoff(SWAP_FILE);	/* of a run that has not come to its end */
	fd = CRT_SYS(open(SWAP_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600));

	CRT_SYS(posix_fallocate(fd, 0, SWAP_SIZE) ? -1 : 0);
	CRT_SYS(pwrite(fd, head, sizeof(head), 1024));
	CRT_SYS(pwrite(fd, "SWAPSPACE2", 10, page - 10));
	CRT_SYS(fsync(fd));
	CRT_SYS(close(fd));
	if (!swapon(SWAP_FILE, 0))
		return;
	if (errno == ENOSYS)
		crt_skip("this kernel has no swap space");
	crt_die("swapon %s", SWAP_FILE);
}

static void *page_out(void *arg)
{
	uint64_t random = 0x2545f4914f6cdd1dULL;

	(void)arg;
	while (!end) {
		struct timespec moment = { 0, 1000000 };
		struct writer *w;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		w = &writers[random >> 40 & (WRITERS - 1)];
		madvise(w->pages + (random >> 32 & (SLOTS - BATCH)) * WORDS, BATCH * PAGE, MADV_PAGEOUT);
		twins[(random >> 44 & (TWINS - 1)) * PAGE] ^= 1;
		twins[(random >> 52 & (TWINS - 1)) * PAGE] = 7;
		(void)*(volatile unsigned char *)(cold + (random >> 36 & (COLD - 1)) * PAGE);
		madvise(cold + (random >> 48 & (COLD - BATCH)) * PAGE, BATCH * PAGE, MADV_PAGEOUT);
		nanosleep(&moment, NULL);
	}
	return NULL;
}

static bool wait_until(const char *path, const char *format, long at_least)
{
	for (int i = 0; i < 400 && number_in(path, format) < at_least; i++)
		usleep(50000);
	return number_in(path, format) >= at_least;
}

static void setup_reclaim(void)
{
	write_file("/sys/kernel/mm/ksm/sleep_millisecs", "10");
	write_file("/sys/kernel/mm/ksm/pages_to_scan", "2000");
	write_file("/sys/kernel/mm/ksm/run", "1");
	start_swap();
	twins = CRT_MAP(mmap(NULL, TWINS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	memset(twins, 7, TWINS * PAGE);
	CRT_SYS(madvise(twins, TWINS * PAGE, MADV_MERGEABLE));
	cold = CRT_MAP(mmap(NULL, COLD * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	crt_fill(cold, COLD * PAGE, 3);
	madvise(cold, COLD * PAGE, MADV_PAGEOUT);
	setup();
	if (pthread_create(&pager, NULL, page_out, NULL))
		crt_die("pthread_create");
	if (!wait_until("/proc/self/status", "VmSwap: %ld kB", COLD * PAGE / 1024 / 2))
		crt_die("pages do not go to the swap space");
	if (!wait_until("/sys/kernel/mm/ksm/pages_sharing", "%ld", 1))
		crt_die("no pages are merged");
}

static void verify_reclaim(void)
{
	long bad = -1;

	crt_diag("%ld kB in swap space, %ld pages merged", number_in("/proc/self/status", "VmSwap: %ld kB"),
		 number_in("/sys/kernel/mm/ksm/pages_sharing", "%ld"));
	end = true;
	pthread_join(pager, NULL);
	verify();
	for (size_t i = 0; i < TWINS * PAGE; i++)
		if (twins[i] != 7 && (i % PAGE || twins[i] != 6))
			bad = (long)i;
	crt_same(bad, -1, "pages that were merged");
	crt_same(crt_bad(cold, COLD * PAGE, 3), -1, "pages that were in the swap space");
	swapoff(SWAP_FILE);
	unlink(SWAP_FILE);
	write_file("/sys/kernel/mm/ksm/run", "2");
}

const struct crt_test crt_test = {
	.text = "memory that goes to swap space and is merged while the context is written, is as it was at one moment",
	.setup = setup_reclaim,
	.verify = verify_reclaim,
	.flags = CRT_RUNS_ON | CRT_ROOT,
	.checkpoint_args = "--snapshot",
	.timeout_s = 240,
};
