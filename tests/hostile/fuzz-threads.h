/* SPDX-License-Identifier: GPL-2.0-only */
/* fuzz-threads.h - what all processes of fuzz-threads have in common, and those that nothing must be done to */
#ifndef FUZZ_THREADS_H
#define FUZZ_THREADS_H

#include <alloca.h>
#include <cryo/client.h>
#include <cryo/ioctl.h>
#include <cryo/map.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORLDS		3		/* at a time */
#define THREADS		3		/* that make calls, in each */
#define MEMBERS		3
#define MAX_SLOTS	256
#define OUTSIDERS	2
#define USER		1000
#define OTHER_USER	1001
#define STRANGER	1002
#define GROUPS		"/sys/fs/cgroup/fuzz-threads"
#define MAX_TEXTS	16
#define MAX_REGISTERS	1024
#define KEPT_STACK	65536

enum kind { A_USER, ROOT, ROOT_IN_NAMESPACE, KINDS };

/* ---- what all have in common ---- */

struct outsider {
	pid_t pid;
	bool privileged;		/* of a world that is not root's */
	_Atomic unsigned long rounds, errors, longest_ms;
};

struct member {
	_Atomic int passed, landed;
	pid_t pid;
	uint32_t length;		/* of its registers */
	unsigned char registers[MAX_REGISTERS];
};

struct world {
	struct outsider watchman;	/* root's, in the same session, control group and tree */
	struct member members[MEMBERS];
	_Atomic int let_go;
};

struct shared {
	_Atomic unsigned int violations;
	char texts[MAX_TEXTS][200];
	_Atomic unsigned long calls, handles, runs, commits, landed, passed_on, votes;
	_Atomic unsigned long ended[65];	/* members, by signal */
	_Atomic unsigned long object_calls[16];	/* that have succeeded */
	struct outsider outsiders[OUTSIDERS];
	struct world worlds[WORLDS];
};

static struct shared *shared;
static unsigned int factor = 1;		/* how many times slower than others this machine is */
static size_t page;
static struct stat root_directory;

__attribute__((format(printf, 1, 2))) static void violated(const char *format, ...)
{
	char text[sizeof(shared->texts[0])];
	unsigned int i;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	shared->violations++;
	for (i = 0; i < MAX_TEXTS && shared->texts[i][0]; i++)
		if (!strcmp(shared->texts[i], text))
			return;
	if (i < MAX_TEXTS)
		strcpy(shared->texts[i], text);
}

static _Thread_local uint64_t state;

static uint64_t rnd(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static unsigned int below(unsigned int n)
{
	return (unsigned int)(rnd() % n);
}

static bool one_in(unsigned int n)
{
	return below(n) == 0;
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void nap_us(unsigned int us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000L };

	nanosleep(&ts, NULL);
}

static void become_user(uid_t uid)
{
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		_exit(8);
	prctl(PR_SET_DUMPABLE, 1);
}

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return written;
}

/* Root in a user namespace that an ordinary user has made. */
static bool enter_namespace(void)
{
	char map[32];

	snprintf(map, sizeof(map), "0 %d 1", geteuid());
	if (unshare(CLONE_NEWUSER))
		return false;
	write_text("/proc/self/setgroups", "deny");
	write_text("/proc/self/uid_map", map);
	return true;
}

/* ---- processes that nothing must be done to ---- */

static uint64_t compute(uint64_t seed, double *sum)
{
	uint64_t a = seed, b = ~seed, c = seed * 3, d = seed ^ 0x5555;
	double x = 1.0, y = 0.5;

	for (int i = 0; i < 20000; i++) {
		a = a * 6364136223846793005ULL + b;
		b ^= a >> 17;
		c += b * 31;
		d = (d << 7 | d >> 57) ^ c;
		x = x * 0.999 + y;
		y = y * 1.0001 + (double)(d & 0xff);
		if (y > 1e12)
			y = 1.0;
	}
	*sum = x + y;
	return a ^ b ^ c ^ d;
}

static void stand_by(struct outsider *self)
{
	static uint64_t memory[4096];
	uint64_t seed = 1;
	long last;

	signal(SIGALRM, SIG_IGN);
	for (size_t i = 0; i < 4096; i++)
		memory[i] = i * 0x9e3779b97f4a7c15ULL;
	for (last = now_ms();; seed++) {
		double one, two;
		uint64_t first = compute(seed, &one), second = compute(seed, &two);
		long now = now_ms();

		if (first != second || one < two || two < one)
			self->errors++;
		for (size_t i = 0; i < 4096; i++)
			if (memory[i] != i * 0x9e3779b97f4a7c15ULL)
				self->errors++;
		if ((unsigned long)(now - last) > self->longest_ms)
			self->longest_ms = (unsigned long)(now - last);
		last = now;
		self->rounds++;
		nap_us(2000);
	}
}

static pid_t start_outsider(struct outsider *self, uid_t uid, bool new_session)
{
	pid_t pid = fork();

	if (pid)
		return self->pid = pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close_range(3, ~0U, 0);
	if (new_session)
		setsid();
	if (uid)
		become_user(uid);
	stand_by(self);
	_exit(1);
}

/* What must stay as it is: lines of its status, and what its links lead to. */
static void describe(pid_t pid, char *text, size_t size)
{
	static const char *const lines[] = { "Uid:", "Gid:", "Groups:", "CapEff:", "CapPrm:", "CapBnd:", "CapInh:",
					     "NoNewPrivs:", "Seccomp:", "Umask:", "SigBlk:", "SigIgn:", "SigCgt:", "Threads:" };
	static const char *const links[] = { "root", "cwd", "exe", "ns/user", "ns/mnt", "ns/pid", "ns/net", "ns/ipc" };
	char path[64], line[256];
	size_t used = 0;
	FILE *file;

	text[0] = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
			if (!strncmp(line, lines[i], strlen(lines[i])) && used + strlen(line) < size)
				used += (size_t)snprintf(text + used, size - used, "%s", line);
	if (file)
		fclose(file);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/%d/%s", pid, links[i]);
		length = readlink(path, line, sizeof(line) - 1);
		line[length < 0 ? 0 : length] = 0;
		if (used + strlen(line) + 2 < size)
			used += (size_t)snprintf(text + used, size - used, "%s\n", line);
	}
}

static bool outsiders_well(char before[OUTSIDERS][4096])
{
	bool well = true;

	for (int i = 0; i < OUTSIDERS; i++) {
		const struct outsider *one = &shared->outsiders[i];
		char after[4096];

		describe(one->pid, after, sizeof(after));
		printf("# pid %d: %lu rounds, the longest took %lu ms, %lu errors\n", one->pid, one->rounds, one->longest_ms,
		       one->errors);
		if (strcmp(before[i], after))
			printf("# was %s\n# is %s\n", before[i], after);
		well &= !one->errors && one->longest_ms < 10000UL * factor && !strcmp(before[i], after) && one->rounds;
	}
	return well;
}

/* Is a thread of it in the module? It has made no call of it. */
static void look_at_stack(const struct outsider *one)
{
	char path[64], text[4096];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stack", one->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return;
	text[length] = 0;
	if (strstr(text, "[cryo]"))
		violated("a process of others was stopped: %.*s", (int)strcspn(text, "\n"), text);
}

/* ---- control groups, one for each world ---- */

static bool make_groups(void)
{
	char path[64];
	bool made = !mkdir(GROUPS, 0755) || errno == EEXIST;

	for (int i = 0; made && i < WORLDS; i++) {
		snprintf(path, sizeof(path), GROUPS "/%d", i);
		made = !mkdir(path, 0755) || errno == EEXIST;
	}
	return made;
}

static void remove_groups(void)
{
	char path[64];

	for (int i = 0; i < WORLDS; i++) {
		snprintf(path, sizeof(path), GROUPS "/%d", i);
		rmdir(path);
	}
	rmdir(GROUPS);
}

/* Everybody in it can be killed, wherever he waits. */
static void end_world(int number)
{
	const long limit = now_ms() + 30000L * factor;
	char path[64], text[64];

	snprintf(path, sizeof(path), GROUPS "/%d/cgroup.kill", number);
	write_text(path, "1");
	snprintf(path, sizeof(path), GROUPS "/%d/cgroup.events", number);
	for (;;) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t length = read(fd, text, sizeof(text) - 1);

		close(fd);
		text[length > 0 ? length : 0] = 0;
		if (strstr(text, "populated 0"))
			return;
		if (now_ms() > limit) {
			violated("processes of a world cannot be killed");
			return;
		}
		nap_us(2000);
	}
}

static void check_watchman(struct outsider *watchman, enum kind kind)
{
	if (kind != ROOT && watchman->errors)
		violated("a process of root in the same session computes wrong");
}

#endif /* FUZZ_THREADS_H */
