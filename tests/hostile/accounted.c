// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a restart keeps in the kernel for its threads is paid for by their control group, is no more than registers can
 * take, and goes with them.
 */
#include "restarting.h"

#define GROUP "/sys/fs/cgroup/accounted"
#define DEAD 200		/* processes that come and are killed */
#define LIVE 64			/* threads that wait together */

static struct shared {
	volatile int result;
	volatile unsigned int arrived;
} *shared;

static unsigned long number_in(const char *path, const char *key)
{
	char line[256];
	unsigned long value = 0;
	FILE *file = fopen(path, "r");

	if (!file)
		die(path);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)))
			value = strtoul(line + strlen(key), NULL, 10);
	fclose(file);
	return value;
}

static unsigned long in_use(void)
{
	return number_in(GROUP "/memory.current", "");
}

static unsigned long available_kib(void)
{
	return number_in("/proc/meminfo", "MemAvailable:");
}

static void *bytes;			/* that sets are copied from */
static uint32_t largest;		/* bytes of general registers that are taken at once */

#define STATE_SET 0x202			/* of x86-64 processors; elsewhere a set that there is not */
static uint32_t state_length = 1 << 20;	/* of it that are taken, as often as there can be sets */

/* @n sets, of one kind. */
static struct cryo_resume many_sets(struct cryo_regset *sets, unsigned int n, uint32_t note, uint32_t length)
{
	for (unsigned int i = 0; i < n; i++)
		sets[i] = (struct cryo_regset){ .note = note, .length = length, .data = (uintptr_t)bytes };
	return (struct cryo_resume){ .size = sizeof(struct cryo_resume), .regsets = (uintptr_t)sets, .nr_regsets = n,
				     .close_fd = -1, .exe_fd = -1 };
}

static pid_t come(int handle, unsigned int n, uint32_t note, uint32_t length)
{
	struct cryo_regset sets[CRYO_MAX_REGSETS];
	pid_t pid = fork();

	if (!pid) {
		struct cryo_resume args = many_sets(sets, n, note, length);

		shared->result = resume(handle, &args);
		_exit(0);
	}
	return pid;
}

/* Comes, parks, and is killed; or is refused. 0, or why it was. */
static int come_and_die(int handle, unsigned int n, uint32_t note, uint32_t length)
{
	pid_t pid;

	shared->result = -1;
	pid = come(handle, n, note, length);
	while (shared->result < 0 && process_state(pid) != 'D')
		sleep_ms(1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return shared->result > 0 ? shared->result : 0;
}

static void bounds(int handle)
{
	is_error(come_and_die(handle, 1, NT_PRSTATUS, 1 << 20), EINVAL, "general registers of a megabyte");
	is_error(come_and_die(handle, 1, 0x7777, 1 << 16), EINVAL, "64 KiB of a register set that there is not");
	is_error(come_and_die(handle, CRYO_MAX_REGSETS + 1, NT_PRSTATUS, 64), EINVAL, "more sets than there can be");
	for (largest = 64; largest < 65536 && !come_and_die(handle, 1, NT_PRSTATUS, largest + 8); largest += 8)
		continue;
	ok(largest >= 8 * 16 && largest <= 1024, "what is taken ends with the registers (%u bytes)", largest);
}

/* As large as all that they can bring. */
static void the_dead(int handle)
{
	unsigned long before = in_use(), kib = available_kib(), after, kib_after;
	unsigned int taken = 0;

	for (unsigned int i = 0; i < DEAD && available_kib() > (384UL << 10); i++) {
		while (state_length > 64 && come_and_die(handle, CRYO_MAX_REGSETS, STATE_SET, state_length))
			state_length = state_length > 4096 ? state_length / 2 : state_length - 64;
		taken++;
	}
	sleep_ms(500);
	after = in_use();
	kib_after = available_kib();
	printf("# %u processes with %d sets of %u bytes; the group had %lu KiB and has %lu; available %lu, %lu KiB\n",
	       taken, CRYO_MAX_REGSETS, state_length, before >> 10, after >> 10, kib, kib_after);
	ok(after < before + (8UL << 20), "processes that came and were killed leave nothing in their group");
	ok(kib_after + (256UL << 10) > kib, "... nor in the machine");
}

static int live_handle;

static void *live(void *arg)
{
	struct cryo_regset sets[CRYO_MAX_REGSETS];
	struct cryo_resume args = many_sets(sets, CRYO_MAX_REGSETS, STATE_SET, state_length);

	__atomic_add_fetch(&shared->arrived, 1, __ATOMIC_SEQ_CST);
	while (!shared->result)
		sleep_ms(1);
	resume(live_handle, &args);
	_exit(1);
	return arg;
}

static void live_threads(int handle)
{
	pthread_attr_t small;
	pthread_t thread;

	live_handle = handle;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < LIVE; i++)
		if (pthread_create(&thread, &small, live, NULL))
			die("pthread_create");
	for (;;)
		pause();
}

static void the_living(int handle)
{
	unsigned long before, after, wanted;
	pid_t pid;

	if (state_length > 8192)
		state_length = 8192;
	wanted = (unsigned long)LIVE * CRYO_MAX_REGSETS * state_length;

	shared->result = 0;
	shared->arrived = 0;
	pid = fork();
	if (!pid)
		live_threads(handle);
	while (shared->arrived < LIVE)
		sleep_ms(1);
	sleep_ms(300);
	before = in_use();
	shared->result = 1;
	sleep_ms(2000 * factor());
	after = in_use();
	printf("# %d threads with %u sets of %u bytes each: %lu bytes more\n", LIVE, CRYO_MAX_REGSETS, state_length,
	       after - before);
	ok(after > before && after - before > wanted / 2, "the group pays for what is kept for threads that wait");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	sleep_ms(500);
	ok(in_use() < before + (1UL << 20), "... as long as they do");
}

static void in_group(void)
{
	int handle;

	put_text(GROUP "/cgroup.procs", "0");
	become_user(ORDINARY);
	bytes = calloc(1, 1 << 20);
	if (!bytes)
		die("calloc");
	memset(bytes, 0, 1 << 20);
	handle = make_handle(100000, 100000);
	bounds(handle);
	the_dead(handle);
	the_living(handle);
}

int main(void)
{
	int status;
	pid_t pid;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (geteuid()) {
		puts("1..0 # SKIP needs root to make a control group");
		return 0;
	}
	shared = shared_memory(sizeof(*shared));
	put_text("/sys/fs/cgroup/cgroup.subtree_control", "+memory +pids");
	if (mkdir(GROUP, 0755) && errno != EEXIST)
		die(GROUP);
	put_text(GROUP "/memory.max", "67108864");
	put_text(GROUP "/pids.max", "128");
	pid = fork();
	if (!pid) {
		in_group();
		_exit(finish());
	}
	waitpid(pid, &status, 0);
	while (rmdir(GROUP) && errno == EBUSY)
		sleep_ms(10);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
