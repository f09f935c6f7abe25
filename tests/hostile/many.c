// SPDX-License-Identifier: GPL-2.0-only
/*
 * many - as many of each thing as a user may have: a checkpoint ends in time, by itself or when it is killed, and nobody
 * else waits for it
 *
 *	many [KIND...]	MANY_SCALE=N: N times as many, as far as the limits let; MANY_SECONDS: how long each may take
 *
 * Counts are such that what takes a step for each pair of two of them takes minutes in an emulated machine, or, where such a step is
 * a few instructions, much more than three times as long as a third of them.
 */
#define _GNU_SOURCE
#include <cryo/client.h>
#include <cryo/ioctl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned int scale = 1, part = 1;	/* so many times as many, and of these one of so many */

static void need(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "# %s: %s\n", what, strerror(errno));
	_exit(9);
}

/* ---- each makes some, and returns how many ---- */

static unsigned int semaphores(void)
{
	struct sembuf op = { .sem_op = 1, .sem_flg = SEM_UNDO };
	unsigned int n;

	for (n = 0; n < 16000 * scale / part; n++) {
		int id = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);

		if (id < 0)
			break;
		need(!semop(id, &op, 1), "semop");
	}
	return n;
}

/* Of one file, by as many open files. */
static unsigned int locks(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_len = 1 };
	unsigned int n;

	for (n = 0; n < 12000 * scale / part; n++) {
		int fd = open("locked", O_RDWR | O_CREAT, 0600);

		if (fd < 0)
			break;
		lock.l_start = 2 * n;
		need(!fcntl(fd, F_OFD_SETLK, &lock), "F_OFD_SETLK");
	}
	return n;
}

/* By numbers that other files have now, which is the longest way to find what is watched. */
static unsigned int registrations(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0), first = 1000;
	unsigned int n, total = 10000 * scale / part;

	for (n = 0; n < total; n++) {
		int fd = eventfd(0, 0), kept;

		if (fd < 0)
			break;
		event.data.u64 = n;
		need(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "EPOLL_CTL_ADD");
		/* It lives on above all others. */
		kept = fcntl(fd, F_DUPFD, first);
		if (kept < 0)
			break;
		first = kept + 1;
		close(fd);
	}
	return n;
}

static unsigned int terminals(void)
{
	unsigned int n, pairs = 60;
	int i;

	for (n = 0; n < pairs; n++) {
		int master = posix_openpt(O_RDWR | O_NOCTTY), slave;

		if (master < 0)
			break;
		need(!grantpt(master) && !unlockpt(master), "unlockpt");
		slave = open(ptsname(master), O_RDWR | O_NOCTTY);
		need(slave >= 0, "terminal");
		for (i = 0; i < (int)(200 * scale / part); i++)
			if (open(ptsname(master), O_RDWR | O_NOCTTY) < 0)
				break;
	}
	return n * 200 * scale / part;
}

static void *sleeps(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static unsigned int cpu_timers(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	unsigned int n;
	pthread_t thread;
	timer_t timer;

	for (n = 0; n < 500; n++)
		if (pthread_create(&thread, NULL, sleeps, NULL))
			break;
	for (n = 0; n < 5000 * scale / part; n++)
		if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer))
			break;
	return n;
}

/* Armed, beside a thread that sleeps with a timeout. */
static unsigned int timerfds(void)
{
	struct itimerspec when = { .it_value.tv_sec = 100000 };
	unsigned int n;

	for (n = 0; n < 30000 * scale / part; n++) {
		int fd = timerfd_create(CLOCK_MONOTONIC, 0);

		if (fd < 0)
			break;
		when.it_value.tv_nsec = n;
		need(!timerfd_settime(fd, 0, &when, NULL), "timerfd_settime");
	}
	return n;
}

/* Of files in a file system that is mounted at many places, all of them covered by another one. */
static unsigned int watches(void)
{
	char name[64];
	int fd = inotify_init();
	unsigned int n, i;

	need(!mkdir("shown", 0755) && !mount("none", "shown", "tmpfs", 0, NULL), "tmpfs");
	for (n = 0; n < 4096 * scale / part; n++) {
		snprintf(name, sizeof(name), "shown/%u", n);
		close(open(name, O_CREAT | O_WRONLY, 0600));
		if (inotify_add_watch(fd, name, IN_MODIFY) < 0)
			break;
	}
	need(!mkdir("places", 0755), "mkdir");
	for (i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "places/%u", i);
		need(!mkdir(name, 0755) && !mount("shown", name, NULL, MS_BIND, NULL), name);
	}
	need(!mount("none", "places", "tmpfs", 0, NULL) && !mount("none", "shown", "tmpfs", 0, NULL), "tmpfs");
	return n;
}

/* Each with its other end in another process, which has all of them. */
static unsigned int sockets(void)
{
	unsigned int n, total = 6000 * scale / part;
	int (*pairs)[2] = calloc(total, sizeof(*pairs)), ready[2];
	char c;

	for (n = 0; n < total; n++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[n]))
			break;
	total = n;
	need(!pipe(ready), "pipe");
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (n = 0; n < total; n++)
			close(pairs[n][0]);
		need(write(ready[1], "", 1) == 1, "write");
		for (;;)
			pause();
	}
	need(read(ready[0], &c, 1) == 1, "read");
	close(ready[0]);
	close(ready[1]);
	for (n = 0; n < total; n++)
		close(pairs[n][1]);
	return total;
}

/* More than may be described at all, in pieces that each may be. */
static unsigned int pipes(void)
{
	static char full[1 << 20];
	unsigned int n;
	int fds[2];

	for (n = 0; n < 520; n++) {
		need(!pipe(fds) && fcntl(fds[1], F_SETPIPE_SZ, sizeof(full)) == sizeof(full), "pipe");
		need(write(fds[1], full, sizeof(full)) == sizeof(full), "write");
	}
	return n;
}

static void set(const char *name, unsigned int value)
{
	FILE *file = fopen(name, "w");

	need(file && fprintf(file, "%u", value) > 0 && !fclose(file), name);
}

/* A queue that is too much by itself. */
static unsigned int messages(void)
{
	static struct {
		long type;
		char text[1 << 20];
	} message = { .type = 1 };
	unsigned int n;
	int id;

	need(!unshare(CLONE_NEWIPC), "ipc namespace");
	set("/proc/sys/kernel/msgmax", sizeof(message.text));
	set("/proc/sys/kernel/msgmnb", 300 << 20);
	id = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
	for (n = 0; n < 260; n++)
		need(!msgsnd(id, &message, sizeof(message.text), 0), "msgsnd");
	return n;
}

static int sleep_beside(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return 0;
}

/* They sleep. */
static unsigned int clones(unsigned int total, int flags)
{
	size_t stack = 16384;
	char *stacks = mmap(NULL, total * stack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned int n;

	need(stacks != MAP_FAILED, "stacks");
	for (n = 0; n < total; n++)
		if (clone(sleep_beside, stacks + (n + 1) * stack, flags, NULL) < 0)
			break;
	return n;
}

/* Processes, all with one memory, descriptor table and working directory. */
static unsigned int sharers(void)
{
	return clones(6000 * scale / part, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD);
}

/* Threads, each with a working directory of its own. */
static unsigned int directories(void)
{
	return clones(12000 * scale / part, CLONE_VM | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM);
}

/* Each with an eventfd of its own, before all of which there are others. */
static unsigned int rings(void)
{
	unsigned int n;

	for (n = 0; n < 40000; n++)
		need(eventfd(0, 0) >= 0, "eventfd");
	for (n = 0; n < 2000 * scale / part; n++) {
		struct io_uring_params p = { .cq_entries = 2, .flags = IORING_SETUP_CQSIZE };
		int event = eventfd(0, 0), fd = syscall(SYS_io_uring_setup, 1, &p);

		if (fd < 0)
			break;
		need(event >= 0 && !syscall(SYS_io_uring_register, fd, IORING_REGISTER_EVENTFD, &event, 1), "register");
	}
	return n;
}

/* Each of the processes has as many handles of libcr's as it can, none of which anybody serves: a checkpoint tells all of them. */
static unsigned int participants(void)
{
	struct cryo_client args = { .size = sizeof(args) };
	unsigned int n = 0, some;
	int ready[2];

	need(!pipe(ready), "pipe");
	for (unsigned int i = 0; i < 64 * scale / part; i++) {
		pid_t pid = fork();

		need(pid >= 0, "fork");
		if (!pid) {
			int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC);

			for (some = 0; some < 500 && ioctl(dev, CRYO_IOC_CLIENT, &args) >= 0; some++)
				;
			close(dev);
			need(write(ready[1], &some, sizeof(some)) == sizeof(some), "write");
			close(ready[0]);
			close(ready[1]);
			for (;;)
				pause();
		}
		need(read(ready[0], &some, sizeof(some)) == sizeof(some), "read");
		n += some;
	}
	close(ready[0]);
	close(ready[1]);
	return n;
}

static const struct kind {
	const char *name;
	unsigned int (*make)(void);
	unsigned int least;
	const char *says;		/* a refusal that it leads to; NULL: there is none */
	unsigned int patience;		/* times the usual limit: a lot of bytes are looked at */
	unsigned int scope;
	bool endless;			/* it is waited for them until the time limit */
} kinds[] = {
	{ "semaphores", semaphores, 1000, NULL, 1, 0, false },
	{ "locks", locks, 1000, NULL, 1, 0, false },
	{ "registrations", registrations, 1000, NULL, 1, 0, false },
	{ "terminals", terminals, 1000, NULL, 1, 0, false },
	{ "cpu_timers", cpu_timers, 1000, NULL, 1, 0, false },
	{ "timerfds", timerfds, 1000, NULL, 1, 0, false },
	{ "watches", watches, 1000, "is of a file that has no path any more", 1, 0, false },
	{ "pipes", pipes, 500,
	  "MiB of kernel state (data queued in pipes, sockets and message queues, names)", 12, 0, false },
	{ "messages", messages, 250, "MiB of kernel state (data queued in a pipe, socket or message queue, a list)", 1, 0, false },
	{ "sockets", sockets, 1000, "its other end belongs to", 1, 0, false },
	{ "sharers", sharers, 1000, NULL, 1, CRYO_SCOPE_PGRP, false },
	{ "directories", directories, 1000, NULL, 1, 0, false },
	{ "rings", rings, 1000, NULL, 1, 0, false },
	{ "participants", participants, 4000, NULL, 1, CRYO_SCOPE_PGRP, true },
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* ---- the one with all of it ---- */

static pid_t start(const struct kind *kind, unsigned int *count)
{
	int to_us[2];
	pid_t pid;

	need(!pipe2(to_us, O_CLOEXEC), "pipe");
	pid = fork();
	if (!pid) {
		unsigned int n;

		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		n = kind->make();
		need(write(to_us[1], &n, sizeof(n)) == sizeof(n), "write");
		close(to_us[0]);
		close(to_us[1]);
		for (;;)
			pause();
	}
	close(to_us[1]);
	if (read(to_us[0], count, sizeof(*count)) != sizeof(*count))
		*count = 0;
	close(to_us[0]);
	return pid;
}

/* A request to say all that is in the way; its result as errno, its log in @text. */
static int dry_run(const struct kind *kind, pid_t pid, unsigned int ms, char *text, size_t size)
{
	struct cryo_checkpoint c = { .size = sizeof(c), .flags = CRYO_CKPT_DRY_RUN, .target = pid, .scope = kind->scope,
				     .timeout_ms = ms };
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), fd = ioctl(dev, CRYO_IOC_CHECKPOINT, &c), err;
	ssize_t n;

	need(fd >= 0, "CRYO_IOC_CHECKPOINT");
	err = ioctl(fd, CRYO_CKPT_RUN) ? errno : 0;
	n = read(fd, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	close(fd);
	close(dev);
	return err;
}

static bool ended(pid_t pid, double seconds)
{
	double limit = now() + seconds;

	while (!waitpid(pid, NULL, WNOHANG)) {
		if (now() > limit)
			return false;
		usleep(10000);
	}
	return true;
}

/* Of this process, whose the work of a request is, as the machine may have others to do. */
static double cpu_time(void)
{
	struct rusage used;

	need(!getrusage(RUSAGE_SELF, &used), "getrusage");
	return used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static int tests, bad;

static void ok(bool good, const char *name, const char *text)
{
	printf("%sok %d - %s: %s\n", good ? "" : "not ", ++tests, name, text);
	bad += !good;
	fflush(stdout);
}

/* A third of them takes a third of the time, more or less, and not a ninth. */
static void try_third(const struct kind *kind, unsigned int count, double took, double seconds)
{
	static char text[65536];
	unsigned int fewer;
	double begin, third, most;
	char line[160];
	pid_t pid;

	part = 3;
	pid = start(kind, &fewer);
	part = 1;
	begin = cpu_time();
	dry_run(kind, pid, 0, text, sizeof(text));
	third = cpu_time() - begin;
	most = fewer ? third * count / fewer * 1.7 + 0.3 : 0;
	snprintf(line, sizeof(line), "%u take %.2f s of a processor, %u %.2f s", count, took, fewer, third);
	ok(took <= most, kind->name, line);
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	ended(pid, 20 * seconds);
}

static void try(const struct kind *kind, double seconds)
{
	static char text[65536];
	unsigned int count;
	double begin, used = 0, whole = seconds * kind->patience;
	char line[160];
	pid_t pid = start(kind, &count), tool;
	int err;

	snprintf(line, sizeof(line), "%u of them", count);
	ok(count >= kind->least, kind->name, line);
	begin = now();
	err = dry_run(kind, pid, 1000, text, sizeof(text));
	snprintf(line, sizeof(line), "with a limit of 1 s a checkpoint took %.1f s (%s)", now() - begin,
		 err ? strerror(err) : "done");
	ok(now() - begin < seconds && (!err || err == ETIMEDOUT || (kind->says && err == EOPNOTSUPP)), kind->name, line);
	if (kind->endless)
		goto kill;
	begin = now();
	used = cpu_time();
	err = dry_run(kind, pid, 0, text, sizeof(text));
	used = cpu_time() - used;
	snprintf(line, sizeof(line), "without one %.1f s (%s)", now() - begin, err ? strerror(err) : "done");
	ok(now() - begin < whole && (kind->says ? err == EOPNOTSUPP && strstr(text, kind->says) : !err), kind->name,
	   line);
	if (err && !kind->says)
		printf("# %.300s\n", text);
kill:
	tool = fork();
	if (!tool) {
		dry_run(kind, pid, 0, text, sizeof(text));
		_exit(0);
	}
	usleep(100000);
	kill(tool, SIGKILL);
	ok(ended(tool, seconds), kind->name, "a checkpoint ends when it is killed");
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	/* The kernel itself takes long to give all of that back. */
	ok(ended(pid, 20 * seconds), kind->name, "so does the process");
	/* Of what is refused, a third may not be, or not be had a second time. */
	if (!kind->endless && (!kind->says || kind->make == sockets))
		try_third(kind, count, used, seconds);
}

static bool wanted(const struct kind *kind, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], kind->name))
			return true;
	return argc == 1;
}

/* Sets of semaphores outlive everybody. */
static void remove_semaphores(void)
{
	struct seminfo info;
	struct semid_ds set;
	int at, id, last = semctl(0, 0, SEM_INFO, &info);

	for (at = 0; at <= last; at++) {
		id = semctl(at, 0, SEM_STAT, &set);
		if (id >= 0)
			semctl(id, 0, IPC_RMID);
	}
}

int main(int argc, char **argv)
{
	const char *seconds = getenv("MANY_SECONDS"), *times = getenv("MANY_SCALE");
	struct rlimit files = { 200000, 200000 };
	size_t i;

	if (times)
		scale = atoi(times);
	setrlimit(RLIMIT_NOFILE, &files);
	/* Mounts are made here, and end with us; the requester is in the same namespace. */
	need(!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "mount namespace");
	signal(SIGPIPE, SIG_IGN);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (wanted(&kinds[i], argc, argv))
			try(&kinds[i], seconds ? atof(seconds) : 10);
	remove_semaphores();
	printf("1..%d\n", tests);
	return bad != 0;
}
