// SPDX-License-Identifier: GPL-2.0-only
/* crtest.c - what all test programs share; see crtest.h */
#define _GNU_SOURCE
#include "crtest.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A jump of the clock between two looks that no busy machine explains. */
#define GAP_NS 400000000LL

const char *crt_case;

static char run_dir[PATH_MAX / 2];
static unsigned int tap_count, tap_failed;
static atomic_bool go_seen;
static _Atomic int64_t gap_sum, gap_end, pause_sum;
static pid_t parent;	/* when the process was there last */

const char *crt_dir(void)
{
	return run_dir;
}

const char *crt_path(const char *name)
{
	static char ring[8][PATH_MAX];
	static atomic_uint next;
	char *buf = ring[atomic_fetch_add(&next, 1) % 8];

	snprintf(buf, PATH_MAX, "%s/%s", run_dir, name);
	return buf;
}

/* ---- what the test says ---------------------------------------------------- */

static bool tap_line(bool cond, const char *fmt, va_list ap)
{
	printf("%sok %u - ", cond ? "" : "not ", ++tap_count);
	vprintf(fmt, ap);
	putchar('\n');
	if (!cond)
		tap_failed++;
	return cond;
}

bool crt_ok(bool cond, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_line(cond, fmt, ap);
	va_end(ap);
	return cond;
}

bool crt_same(long long now, long long before, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_line(now == before, fmt, ap);
	va_end(ap);
	if (now != before)
		crt_diag("is %lld (0x%llx), was %lld (0x%llx)", now, now, before, before);
	return now == before;
}

bool crt_same_str(const char *now, const char *before, const char *fmt, ...)
{
	bool same = !strcmp(now, before);
	va_list ap;

	va_start(ap, fmt);
	tap_line(same, fmt, ap);
	va_end(ap);
	if (!same)
		crt_diag("is \"%s\", was \"%s\"", now, before);
	return same;
}

void crt_diag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("# ");
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
}

/* Files that the driver looks for appear complete. */
static void announce(const char *name, const char *fmt, va_list ap)
{
	char text[1024], tmp[PATH_MAX];
	int fd, len;

	len = vsnprintf(text, sizeof(text), fmt, ap);
	snprintf(tmp, sizeof(tmp), "%s/.%s", run_dir, name);
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, (size_t)len) != len || close(fd) ||
	    rename(tmp, crt_path(name))) {
		fprintf(stderr, "%s: %s\n", tmp, strerror(errno));
		_exit(99);
	}
}

void crt_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(99);
}

long long crt_check(long long value, const char *what)
{
	if (value == -1)
		crt_die("%s: %m", what);
	return value;
}

void *crt_check_map(void *value, const char *what)
{
	if (value == (void *)-1)
		crt_die("%s: %m", what);
	return value;
}

void crt_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	announce("skip", fmt, ap);
	va_end(ap);
	exit(77);
}

void crt_expect(const char *fmt, ...)
{
	FILE *f = fopen(crt_path("expect"), "ae");
	va_list ap;

	if (!f)
		crt_die("%s: %m", crt_path("expect"));
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fputc('\n', f);
	if (fclose(f))
		crt_die("%s: %m", crt_path("expect"));
}

static void __attribute__((format(printf, 1, 2))) ready(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	announce("ready", fmt, ap);
	va_end(ap);
}

/* ---- time ------------------------------------------------------------------ */

int64_t crt_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

void crt_sleep_ms(unsigned int ms)
{
	struct timespec left = { ms / 1000, (long)(ms % 1000) * 1000000L };

	while (nanosleep(&left, &left) == -1 && errno == EINTR)
		;
}

void crt_leave_no_time_wait(void)
{
	const struct linger now = { .l_onoff = 1 };

	for (int fd = 3; fd < 1024; fd++)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

int64_t crt_gap_ns(void)
{
	return gap_sum;
}

int64_t crt_gap_end_ns(void)
{
	return gap_end;
}

int64_t crt_pause_ns(void)
{
	return pause_sum;
}

bool crt_go(void)
{
	return go_seen;
}

/* Who has been restarted has another parent: the cr_restart that did it. */
static void note_gap(int64_t from, int64_t to)
{
	if (getppid() == parent) {
		pause_sum += to - from;
		return;
	}
	parent = getppid();
	gap_sum += to - from;
	gap_end = to;
}

/* Two milliseconds of computing; bounded, in case the clock stands still. */
static int64_t compute_a_while(int64_t last)
{
	int64_t until = last + 2000000, now = last;

	for (int i = 0; i < 100000 && now < until; i++) {
		now = crt_now_ns();
		if (now - last > GAP_NS)
			note_gap(last, now);
		last = now;
	}
	return last;
}

void crt_wait_go(void)
{
	char go[PATH_MAX];
	int64_t last = crt_now_ns();

	parent = getppid();
	/* A copy: the test's threads may ask for paths of their own. */
	snprintf(go, sizeof(go), "%s", crt_path("go"));
	while (access(go, F_OK))
		last = compute_a_while(last);
	go_seen = true;
}

/* ---- patterns and files ---------------------------------------------------- */

static uint64_t scramble(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

void crt_fill(void *where, size_t size, uint64_t seed)
{
	unsigned char *p = where;

	for (size_t i = 0; i < size; i += 8) {
		uint64_t v = scramble(&seed);

		memcpy(p + i, &v, size - i < 8 ? size - i : 8);
	}
}

ssize_t crt_bad(const void *where, size_t size, uint64_t seed)
{
	const unsigned char *p = where;

	for (size_t i = 0; i < size; i += 8) {
		uint64_t v = scramble(&seed);
		size_t n = size - i < 8 ? size - i : 8;

		if (memcmp(p + i, &v, n))
			return (ssize_t)i;
	}
	return -1;
}

const char *crt_make_file(const char *name, size_t size, uint64_t seed)
{
	const char *path = crt_path(name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	void *buf = malloc(size ? size : 1);

	if (fd < 0 || !buf)
		crt_die("%s: %m", path);
	crt_fill(buf, size, seed);
	if (write(fd, buf, size) != (ssize_t)size)
		crt_die("%s: %m", path);
	close(fd);
	free(buf);
	return path;
}

void crt_put(const char *path, const char *text, int flags)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		crt_die("%s: %m", path);
	close(fd);
}

void crt_map_ids(uid_t uid, gid_t gid)
{
	char text[64];

	crt_put("/proc/self/setgroups", "deny", 0);
	snprintf(text, sizeof(text), "0 %d 1", (int)uid);
	crt_put("/proc/self/uid_map", text, 0);
	snprintf(text, sizeof(text), "0 %d 1", (int)gid);
	crt_put("/proc/self/gid_map", text, 0);
}

void crt_unshare_users(int flags)
{
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (unshare(CLONE_NEWUSER | flags))
		crt_skip("no user namespaces");
	crt_map_ids(uid, gid);
}

size_t crt_slurp(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		crt_die("%s: %m", path);
	while (len < size - 1 && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	buf[len] = 0;
	return len;
}

unsigned long long crt_stat_field(pid_t tid, int field)
{
	char path[64], buf[2048], *p;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	crt_slurp(path, buf, sizeof(buf));
	p = strrchr(buf, ')');		/* the name may hold blanks */
	for (int i = 2; p && i < field; i++)
		p = strchr(p + 1, ' ');
	if (!p)
		crt_die("%s: no field %d", path, field);
	return strtoull(p + 1, NULL, 10);
}

/* Copies the value of the line "NAME: value" that starts at or after @text, before @end. */
static bool line_value(const char *text, const char *end, const char *name, char *buf, size_t size)
{
	size_t len = strlen(name);

	for (const char *p = text; p && p < end; p = strchr(p, '\n'), p = p ? p + 1 : p) {
		if (strncmp(p, name, len) || p[len] != ':')
			continue;
		p += len + 1;
		p += strspn(p, " \t");
		snprintf(buf, size, "%.*s", (int)strcspn(p, "\n"), p);
		return true;
	}
	return false;
}

bool crt_status(const char *name, char *buf, size_t size)
{
	char text[8192];
	size_t len = crt_slurp("/proc/self/status", text, sizeof(text));

	return line_value(text, text + len, name, buf, size);
}

bool crt_smaps(const void *addr, const char *name, char *buf, size_t size)
{
	static char text[1 << 20];
	unsigned long at = (unsigned long)addr, start, stop;

	crt_slurp("/proc/self/smaps", text, sizeof(text));
	for (char *p = text; p; p = strchr(p, '\n'), p = p ? p + 1 : p) {
		char *flags;

		if (sscanf(p, "%lx-%lx ", &start, &stop) != 2 || at < start || at >= stop)
			continue;
		flags = strstr(p, "VmFlags:");
		return line_value(p, flags ? flags + 1 : text + sizeof(text), name, buf, size);
	}
	return false;
}

bool crt_has_word(const char *line, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = strstr(line, word); p; p = strstr(p + 1, word))
		if ((p == line || p[-1] == ' ') && (!p[len] || p[len] == ' '))
			return true;
	return false;
}

/* ---- accesses that may fault ------------------------------------------------ */

static sigjmp_buf fault_jump;
static void *volatile fault_addr;

static void on_fault(int sig, siginfo_t *info, void *ctx)
{
	(void)ctx;
	fault_addr = info->si_addr;
	siglongjmp(fault_jump, sig);
}

static int try_access(volatile unsigned char *addr, bool write, void **fault)
{
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO }, segv, bus;
	int sig;

	fault_addr = NULL;
	sigaction(SIGSEGV, &act, &segv);
	sigaction(SIGBUS, &act, &bus);
	sig = sigsetjmp(fault_jump, 1);
	if (!sig) {
		unsigned char v = *addr;

		if (write)
			*addr = v;
	}
	sigaction(SIGSEGV, &segv, NULL);
	sigaction(SIGBUS, &bus, NULL);
	if (fault)
		*fault = fault_addr;
	return sig;
}

int crt_try_read(const volatile void *addr, void **fault)
{
	return try_access((volatile unsigned char *)(uintptr_t)addr, false, fault);
}

int crt_try_write(volatile void *addr, void **fault)
{
	return try_access(addr, true, fault);
}

/* ---- main ------------------------------------------------------------------ */

static int describe(void)
{
	const struct crt_test *t = &crt_test;

	printf("text=%s\nflags=%u\ncheckpoint_args=%s\nrestart_args=%s\n", t->text, t->flags,
	       t->checkpoint_args ? t->checkpoint_args : "", t->restart_args ? t->restart_args : "");
	printf("cases=%s\n", t->cases ? t->cases : "");
	printf("settle_ms=%u\ndead_ms=%u\nmax_context_kib=%u\ntimeout_s=%u\n", t->settle_ms,
	       t->dead_ms, t->max_context_kib, t->timeout_s);
	return 0;
}

/* Run by hand: the driver lies in the same directory. */
static int start_driver(char **argv)
{
	char self[PATH_MAX], driver[PATH_MAX + 16];
	char *args[4] = { driver, self, argv[1], NULL };
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		crt_die("/proc/self/exe: %m");
	self[n] = 0;
	snprintf(driver, sizeof(driver), "%s/crtest-run", dirname(strdupa(self)));
	execv(driver, args);
	crt_die("%s: %m", driver);
}

int main(int argc, char **argv)
{
	const char *dir = getenv("CRTEST_DIR");

	if (argc > 1 && !strcmp(argv[1], "--describe"))
		return describe();
	if (!dir)
		return start_driver(argv);
	snprintf(run_dir, sizeof(run_dir), "%s", dir);
	crt_case = argv[1];
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("# %s\n", crt_test.text);
	crt_test.setup();
	ready("%d\n", getpid());
	if (crt_test.flags & CRT_STOPPED)
		raise(SIGSTOP);
	(crt_test.wait ? crt_test.wait : crt_wait_go)();
	crt_test.verify();
	printf("1..%u\n", tap_count);
	return tap_failed || !tap_count;
}
