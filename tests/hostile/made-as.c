// SPDX-License-Identifier: GPL-2.0-only
/*
 * made-as - has one of each kind of kernel object that remembers who made it, and says whose they are: by fstat(2) where
 * there is an owner, else by how many more its user may have before the limit comes.
 *	made-as job DIRECTORY PORT	as user 1000: reports each time that DIRECTORY/go is there
 *	made-as listen PORT		with SO_REUSEPORT, for good
 *	made-as groups PATH		what SO_PEERGROUPS says of who listens there
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/netlink.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define USER 1000
#define MANY 64
#define HELD 3

enum { LISTENER, CALLER, ACCEPTED, UDP, NETLINK, UNIX_LISTENER, UNIX_PAIR, PIPE, MEMFD, KINDS };
static const char *const kinds[KINDS] = {
	"TCP listener", "TCP caller", "TCP accepted", "UDP", "netlink", "Unix listener", "Unix pair", "pipe", "memfd",
};

static int held[KINDS], epoll, events[MANY];

static int must(int result, const char *what)
{
	if (result >= 0)
		return result;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static int listener(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((unsigned short)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = must(socket(AF_INET, SOCK_STREAM, 0), "socket"), on = 1;

	must(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)), "SO_REUSEPORT");
	must(bind(fd, (struct sockaddr *)&at, sizeof(at)), "bind");
	must(listen(fd, 5), "listen");
	return fd;
}

static void make_connection(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((unsigned short)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	held[LISTENER] = listener(port);
	held[CALLER] = must(socket(AF_INET, SOCK_STREAM, 0), "socket");
	must(connect(held[CALLER], (struct sockaddr *)&at, sizeof(at)), "connect");
	held[ACCEPTED] = must(accept(held[LISTENER], NULL, NULL), "accept");
}

static struct sockaddr_un unix_address(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	return at;
}

static void make_sockets(int port)
{
	struct sockaddr_un at = unix_address("listener");
	int fds[2];

	make_connection(port);
	held[UDP] = must(socket(AF_INET, SOCK_DGRAM, 0), "UDP");
	held[NETLINK] = must(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), "netlink");
	held[UNIX_LISTENER] = must(socket(AF_UNIX, SOCK_STREAM, 0), "Unix");
	must(bind(held[UNIX_LISTENER], (struct sockaddr *)&at, sizeof(at)), "bind");
	must(listen(held[UNIX_LISTENER], 5), "listen");
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), "socketpair");
	held[UNIX_PAIR] = fds[0];
}

/* ---- what has a limit: one more, or -1 ---- */

static int one_inotify(void)
{
	return inotify_init1(0);
}

static int one_fanotify(void)
{
	return fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID, O_RDONLY);
}

static int one_watch(void)
{
	static int next;
	struct epoll_event event = { .events = EPOLLIN };
	int other = epoll_create1(0), rc;

	if (next == MANY)
		next = 0;
	rc = epoll_ctl(other, EPOLL_CTL_ADD, events[next++], &event);
	if (rc)
		close(other);
	return rc ? -1 : other;
}

/* Above the soft limit they are smaller. */
static int one_pipe(void)
{
	int fds[2];

	if (pipe(fds))
		return -1;
	close(fds[1]);
	if (fcntl(fds[0], F_GETPIPE_SZ) >= 65536)
		return fds[0];
	close(fds[0]);
	return -1;
}

static int one_queue(void)
{
	static int number;
	struct mq_attr attributes = { .mq_maxmsg = 10, .mq_msgsize = 1000 };
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/made-as.%d.%d", getpid(), number++);
	fd = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
	mq_unlink(name);
	return fd;
}

static const struct {
	const char *what;
	int (*one)(void);
} limited[] = {
	{ "inotify instances", one_inotify }, { "fanotify groups", one_fanotify },  { "epoll watches", one_watch },
	{ "pipes", one_pipe },		      { "message queues", one_queue },
};

static int how_many_more(int (*one)(void))
{
	int fds[MANY], n = 0;

	while (n < MANY && (fds[n] = one()) >= 0)
		n++;
	for (int i = 0; i < n; i++)
		close(fds[i]);
	return n;
}

static void hold_limited(void)
{
	struct sigevent none = { .sigev_notify = SIGEV_NONE };
	struct epoll_event event = { .events = EPOLLIN };
	timer_t timer;
	int fds[2];

	for (int i = 0; i < MANY; i++)
		events[i] = must(eventfd(0, 0), "eventfd");
	epoll = must(epoll_create1(0), "epoll");
	for (int i = 0; i < HELD; i++) {
		must(epoll_ctl(epoll, EPOLL_CTL_ADD, events[i], &event), "epoll_ctl");
		must(one_inotify(), "inotify");
		must(one_fanotify(), "fanotify");
		must(pipe(fds), "pipe");
		must(one_queue(), "mq_open");
		must(timer_create(CLOCK_MONOTONIC, &none, &timer), "timer_create");
		must(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ .sival_int = i }), "sigqueue");
		must((int)syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGRTMIN + 2,
				  &(siginfo_t){ .si_signo = SIGRTMIN + 2, .si_code = SI_QUEUE }), "rt_tgsigqueueinfo");
	}
	held[PIPE] = fds[0];
	held[MEMFD] = must(memfd_create("made-as", 0), "memfd");
}

static void report(const char *name)
{
	FILE *out = fopen("report.new", "w"), *status = fopen("/proc/self/status", "r");
	char line[256];

	if (!out || !status)
		exit(1);
	for (int i = 0; i < KINDS; i++) {
		struct stat now;

		must(fstat(held[i], &now), kinds[i]);
		fprintf(out, "%s: user %u\n", kinds[i], now.st_uid);
	}
	for (size_t i = 0; i < sizeof(limited) / sizeof(*limited); i++)
		fprintf(out, "%s: %d more\n", limited[i].what, how_many_more(limited[i].one));
	while (fgets(line, sizeof(line), status))
		if (!strncmp(line, "SigQ:", 5))
			fprintf(out, "timers and queued signals: %s", line + 6);
	fclose(status);
	fclose(out);
	rename("report.new", name);
}

static _Noreturn void job(const char *directory, int port)
{
	const gid_t groups[] = { 27, USER };
	struct rlimit queues = { 100000, 100000 }, files = { 1000, 1000 }, signals = { 1000, 1000 };
	sigset_t all;

	must(chdir(directory), directory);
	setrlimit(RLIMIT_MSGQUEUE, &queues);
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_SIGPENDING, &signals);
	must(setgroups(2, groups), "setgroups");
	must(setresgid(USER, USER, USER), "setresgid");
	must(setresuid(USER, USER, USER), "setresuid");
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	make_sockets(port);
	hold_limited();
	for (;;) {
		report("report");
		while (access("go", F_OK))
			usleep(50000);
		unlink("go");
	}
}

static int say_groups(const char *path)
{
	struct sockaddr_un at = unix_address(path);
	int fd = must(socket(AF_UNIX, SOCK_STREAM, 0), "socket");
	gid_t groups[64];
	socklen_t size = sizeof(groups);

	must(connect(fd, (struct sockaddr *)&at, sizeof(at)), path);
	must(getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size), "SO_PEERGROUPS");
	for (size_t i = 0; i < size / sizeof(*groups); i++)
		printf("%u ", groups[i]);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "job"))
		job(argv[2], atoi(argv[3]));
	if (argc == 3 && !strcmp(argv[1], "groups"))
		return say_groups(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "listen")) {
		listener(atoi(argv[2]));
		puts("listens");
		fflush(stdout);
		pause();
	}
	return 2;
}
