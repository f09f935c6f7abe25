// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bounds of one user that takes thousands of processes to come to, or gigabytes: in a module that has parameters for them
 * (kmod/lib/point.h), at four and some.  The fifth is not had, and another user has his.  For tests/points/inside.
 */
#include "restarting.h"
#include "map-self.h"

#define OTHER	(ORDINARY + 1)
#define FEW	4
#define PAGE	((unsigned long)sysconf(_SC_PAGESIZE))
#define PAGES	64		/* of an area */

static void set_parameter(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/cryo/parameters/%s", name);
	put_text(path, value);
}

static uint64_t features(void)
{
	struct cryo_version version = { .size = sizeof(version) };
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	if (ioctl(dev, CRYO_IOC_VERSION, &version))
		die("CRYO_IOC_VERSION");
	close(dev);
	return version.features;
}

/* A file of that user's, of @size zeros. */
static void make_file(const char *path, uid_t uid, off_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || fchown(fd, uid, uid) || fallocate(fd, 0, 0, size))
		die(path);
	close(fd);
}

/* ---- accounts of what is written to ---- */

static pid_t sleeper(uid_t uid)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	become_user(uid);
	/* Becoming another user clears that. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* Is there an account of @target after a checkpoint by its user? */
static bool is_tracked(pid_t target, uid_t uid)
{
	struct cryo_checkpoint args = { .size = sizeof(args), .target = target, .flags = CRYO_CKPT_TRACK };
	struct cryo_ckpt_context context = { .size = sizeof(context), .id = "an account" };
	bool *tracked = shared_memory(sizeof(*tracked));
	int handle, dev, status;
	pid_t pid = fork();

	if (!pid) {
		become_user(uid);
		dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
		args.out_fd = open("out", O_WRONLY | O_TRUNC);
		handle = ioctl(dev, CRYO_IOC_CHECKPOINT, &args);
		if (handle < 0 || ioctl(handle, CRYO_CKPT_RUN, 0) || ioctl(handle, CRYO_CKPT_COMPLETE, &context)) {
			show_log(handle);
			die("checkpoint");
		}
		args.flags |= CRYO_CKPT_DRY_RUN;
		args.flags &= ~CRYO_CKPT_TRACK;
		args.out_fd = -1;
		handle = ioctl(dev, CRYO_IOC_CHECKPOINT, &args);
		if (handle < 0 || ioctl(handle, CRYO_CKPT_PARENT, &context))
			die("CRYO_CKPT_PARENT");
		*tracked = context.tracked;
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		die("a checkpoint");
	return *tracked;
}

static void accounts(void)
{
	pid_t pids[FEW + 2];
	int n = 0;

	if (!(features() & CRYO_FEATURE_TRACK)) {
		puts("# this kernel keeps no account of what is written to");
		return;
	}
	make_file("out", 0, 4096);
	if (chmod("out", 0666))
		die("out");
	set_parameter("few_tracks", "4");
	for (int i = 0; i < FEW; i++) {
		pids[i] = sleeper(ORDINARY);
		sleep_ms(50);
		n += is_tracked(pids[i], ORDINARY);
	}
	ok(n == FEW, "what a user's processes write to is known of four");
	pids[FEW] = sleeper(ORDINARY);
	pids[FEW + 1] = sleeper(OTHER);
	sleep_ms(50);
	ok(!is_tracked(pids[FEW], ORDINARY), "... not of a fifth: a user's accounts are bounded");
	ok(is_tracked(pids[FEW + 1], OTHER), "... of one of another user's");
	set_parameter("few_tracks", "0");
	for (int i = 0; i < FEW + 2; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

/* ---- mapped areas ---- */

/* Returns 0 or an errno value. */
static int map_at(int handle, char *area, struct cryo_map_chunk *chunks, unsigned int nr_chunks)
{
	struct cryo_map_run run = { .start = (uintptr_t)area, .nr_pages = nr_chunks > 1 ? 1 : PAGES };
	struct cryo_map map = { .size = sizeof(map), .nr_runs = 1, .nr_chunks = nr_chunks, .runs = (uintptr_t)&run,
				.chunks = (uintptr_t)chunks };

	map.start = (uintptr_t)area;
	map.end = map.start + run.nr_pages * PAGE;
	return ioctl(handle, CRYO_RST_MAP, &map) ? errno : 0;
}

#define ZEROS	0xf88e23dbU	/* the lower half of the XXH64 of 2 MiB of them */

static unsigned int in_common(const char *area)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	unsigned int n = 0;
	uint64_t entry;

	for (unsigned int i = 0; i < PAGES; i++)
		if (pread(fd, &entry, sizeof(entry), (off_t)(((uintptr_t)area / PAGE + i) * sizeof(entry))) == sizeof(entry))
			n += entry >> 63 && !(entry >> 56 & 1);
	close(fd);
	return n;
}

/* How many pages of its area, the @nr-th of that file, a new process of that user's has in common with others; it stays. */
static unsigned int place(uid_t uid, const char *file, unsigned int nr)
{
	struct cryo_map_chunk chunk = { .nr_pages = (uint32_t)((2UL << 20) / PAGE), .checksum = ZEROS };
	char *wanted = (char *)(1UL << 40) + nr * (64UL << 20), *area;
	volatile unsigned int *n = shared_memory(sizeof(*n));
	volatile char byte;

	*n = -1U;
	if (fork()) {
		for (unsigned int i = 0; i < 400 * factor() && *n == -1U; i++)
			sleep_ms(25);
		return *n;
	}
	become_user(uid);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	area = mmap(wanted, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (area != wanted || map_at(handle_with(file), area, &chunk, 1) || mprotect(area, PAGES * PAGE, PROT_READ | PROT_WRITE))
		die("an area");
	for (unsigned int i = 0; i < PAGES; i++)
		byte = area[i * PAGE];
	(void)byte;
	*n = in_common(area);
	for (;;)
		pause();
}

static void try_places(void)
{
	pid_t group = fork();
	int status;

	/* All of them end with this one, which has three results. */
	if (group) {
		waitpid(group, &status, 0);
		tap_count += 3;
		tap_bad += status != 0;
		return;
	}
	make_file("users", ORDINARY, 2 << 20);
	make_file("others", OTHER, 2 << 20);
	place(OTHER, "others", 0);
	for (unsigned int i = 0; i <= FEW; i++)
		place(ORDINARY, "users", i);
	status = (int)place(ORDINARY, "users", FEW);
	ok(status >= PAGES / 2, "the last four areas of a user's are known: one more of the same has pages in common (%d)", status);
	status = (int)place(ORDINARY, "users", 0);
	ok(!status, "... the one before is not: a user's areas are bounded (%d)", status);
	status = (int)place(OTHER, "others", 0);
	ok(status >= PAGES / 2, "... another user's first one is (%d)", status);
	_exit(tap_bad != 0);
}

static void places(void)
{
	static const char share[] = "/sys/module/cryo/parameters/share";
	char before[2] = "";
	int fd = open(share, O_RDONLY);

	if (read(fd, before, 1) != 1)
		die(share);
	close(fd);
	put_text(share, "Y");
	set_parameter("few_places", "4");
	if (features() & CRYO_FEATURE_SHARE)
		try_places();
	else
		puts("# nothing is had in common here");
	set_parameter("few_places", "0");
	put_text(share, before);
}

#define CHUNKS	4096

/* As many tables as a new process of that user's may have, 64 at most. */
static unsigned int tables(void)
{
	struct cryo_map_chunk *chunks = calloc(CHUNKS, sizeof(*chunks));
	volatile unsigned int *n = shared_memory(sizeof(*n));
	pid_t pid = fork();
	int handle, err = 0;

	if (!pid) {
		become_user(ORDINARY);
		for (int i = 0; i < CHUNKS; i++)
			chunks[i].nr_pages = 1;
		handle = handle_with("users");
		while (*n < 64 && !err) {
			err = map_at(handle, new_area(PAGE), chunks, CHUNKS);
			*n += !err;
		}
		_exit(err);
	}
	waitpid(pid, &err, 0);
	free(chunks);
	return WIFEXITED(err) && (*n == 64 || WEXITSTATUS(err) == ENOSPC) ? *n : 0;
}

static char directory[] = "/var/tmp/few.XXXXXX";

/* Where other users come to. */
static void begin(void)
{
	if (!mkdtemp(directory) || chmod(directory, 0755) || chdir(directory))
		die(directory);
}

static int end(void)
{
	unlink("out");
	unlink("users");
	unlink("others");
	rmdir(directory);
	return finish();
}

int main(void)
{
	unsigned int n;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (geteuid() || access("/sys/module/cryo/parameters/few_tracks", W_OK)) {
		puts("1..0 # SKIP needs root, and a module with points");
		return 0;
	}
	begin();
	accounts();
	if (!(features() & CRYO_FEATURE_MAP)) {
		puts("# this kernel cannot map (no CONFIG_MMU_NOTIFIER)");
		return end();
	}
	make_file("users", ORDINARY, 2 << 20);
	set_parameter("few_table_bytes", "1000000");
	n = tables();
	ok(n && n < 64, "tables of an address space are bounded (%u of them)", n);
	ok(tables() == n, "... another one has as many");
	set_parameter("few_table_bytes", "0");
	places();
	return end();
}
