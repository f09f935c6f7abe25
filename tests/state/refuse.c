// SPDX-License-Identifier: GPL-2.0-only
/* What an ordinary user's process can hold that is refused: all of it at once, then each alone. */
#define _GNU_SOURCE
#include "refuse-run.h"
#include "uring.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static bool echo(int from, int to)
{
	char byte = 0;

	return write(from, "e", 1) == 1 && read(to, &byte, 1) == 1 && byte == 'e';
}

/* ---- sockets ---- */

static int stream_pair[2], udp, tcp[2], tcp_listener;

/* The other end is with a process that is no child. */
static bool make_unix_stream(void)
{
	CRT_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, stream_pair));
	if (!fork()) {
		pid_t me = getppid();

		if (fork())
			_exit(0);
		close(stream_pair[0]);
		while (!kill(me, 0) && access(crt_path("go"), F_OK))
			crt_sleep_ms(20);
		_exit(0);
	}
	CRT_SYS(wait(NULL));
	close(stream_pair[1]);
	crt_sleep_ms(300);
	crt_expect("pid %d|fd %d|(socket): its other end belongs to pid|refuse|which is outside the checkpoint; not supported except as stdio (--unix=close lets it be closed)", getpid(), stream_pair[0]);
	return true;
}

static struct sockaddr_in loopback(void)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static bool make_udp(void)
{
	static const unsigned char record_route[] = { 7, 7, 4, 0, 0, 0, 0, 0 };
	struct sockaddr_in name = loopback();
	socklen_t len = sizeof(name);

	udp = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, 0));
	CRT_SYS(bind(udp, (struct sockaddr *)&name, len));
	CRT_SYS(getsockname(udp, (struct sockaddr *)&name, &len));
	CRT_SYS(connect(udp, (struct sockaddr *)&name, len));
	CRT_SYS(setsockopt(udp, IPPROTO_IP, IP_OPTIONS, record_route, sizeof(record_route)));
	return expect_fd(udp, "UDP socket with IP options or extension headers");
}

static bool works_udp(void)
{
	return echo(udp, udp);
}

static bool make_tcp(void)
{
	struct sockaddr_in name = loopback();
	socklen_t len = sizeof(name);

	tcp_listener = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	CRT_SYS(bind(tcp_listener, (struct sockaddr *)&name, len));
	CRT_SYS(listen(tcp_listener, 1));
	CRT_SYS(getsockname(tcp_listener, (struct sockaddr *)&name, &len));
	tcp[0] = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	CRT_SYS(connect(tcp[0], (struct sockaddr *)&name, len));
	tcp[1] = (int)CRT_SYS(accept(tcp_listener, NULL, NULL));
	if (!fork()) {
		pid_t me = getppid();

		if (fork())
			_exit(0);
		while (!kill(me, 0) && access(crt_path("go"), F_OK))
			crt_sleep_ms(20);
		_exit(0);
	}
	CRT_SYS(wait(NULL));
	close(tcp[1]);
	crt_sleep_ms(300);
	crt_expect("pid %d|fd %d|TCP connection between 127.0.0.1:|with pid|which is outside the checkpoint (--tcp=close lets it be reset)", getpid(), tcp[0]);
	return true;
}

/* Connected by a process that is no child, and not accepted yet: it would be lost. */
static bool make_accept_queue(void)
{
	struct sockaddr_in name = loopback();
	socklen_t len = sizeof(name);
	int fd = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));

	CRT_SYS(bind(fd, (struct sockaddr *)&name, len));
	CRT_SYS(listen(fd, 5));
	CRT_SYS(getsockname(fd, (struct sockaddr *)&name, &len));
	if (!fork()) {
		pid_t me = getppid();

		if (fork())
			_exit(0);
		close(fd);
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (!connect(fd, (struct sockaddr *)&name, len))
			while (!kill(me, 0) && access(crt_path("go"), F_OK))
				crt_sleep_ms(20);
		_exit(0);
	}
	CRT_SYS(wait(NULL));
	crt_sleep_ms(300);
	crt_expect("pid %d|fd %d|a connection from pid|which is outside the checkpoint, has not been accepted yet", getpid(), fd);
	return true;
}

static bool make_netlink(void)
{
	struct { struct nlmsghdr head; struct rtgenmsg body; } ask = {
		.head = { .nlmsg_len = sizeof(ask), .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
	};
	int fd = (int)CRT_SYS(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));

	CRT_SYS(send(fd, &ask, sizeof(ask), 0));
	return expect_fd(fd, "netlink socket with messages that have not been read");
}

/* ---- descriptors without a file ---- */

static int fanotify_fd, pid_fd, thread_fd, ring_pipe[2];
static struct uring ring, buffers_ring;
static char ring_byte;

static bool make_fanotify(void)
{
	fanotify_fd = fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID | FAN_NONBLOCK, O_RDONLY);
	if (fanotify_fd < 0 || fanotify_mark(fanotify_fd, FAN_MARK_ADD, FAN_CREATE, AT_FDCWD, crt_dir()))
		return false;
	crt_make_file("unread by fanotify", 1, 1);
	return expect_fd(fanotify_fd, "(fanotify)|events that have not been read");
}

static bool works_fanotify(void)
{
	char buf[4096];

	return read(fanotify_fd, buf, sizeof(buf)) > 0;
}

static bool make_userfaultfd(void)
{
	return expect_fd((int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY), "[userfaultfd]): descriptor of this type");
}

/* A read of a pipe in which there is nothing. */
static bool make_io_uring(void)
{
	if (!uring_make(&ring, 4, 0))
		return false;
	CRT_SYS(pipe(ring_pipe));
	uring_add(&ring, IORING_OP_READ, ring_pipe[0], &ring_byte, 1, 7);
	crt_expect("pid %d|thread %d|1 requests of io_uring are under way", getpid(), getpid());
	return uring_enter(&ring, 1, 0) == 1;
}

static bool works_io_uring(void)
{
	uint64_t user;

	CRT_SYS(write(ring_pipe[1], "x", 1));
	return uring_enter(&ring, 0, 1) >= 0 && uring_take(&ring, &user) == 1 && user == 7 && ring_byte == 'x';
}

static bool make_ring_buffers(void)
{
	/* Not of a file: such memory is not taken up to Linux 6.1. */
	struct iovec vec = { CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), 1 };

	if (!uring_make(&buffers_ring, 4, 0))
		return false;
	if (syscall(SYS_io_uring_register, buffers_ring.fd, IORING_REGISTER_BUFFERS, &vec, 1))
		return false;
	return expect_fd(buffers_ring.fd, "(io_uring): a ring with registered or provided buffers is not supported");
}

/* Of a process that is left out. */
static bool make_pidfd(void)
{
	pid_fd = (int)syscall(SYS_pidfd_open, getppid(), 0);
	/* Whose it is, who may not trace that one is not told. */
	crt_expect("pid %d|fd %d (pidfd)|it is of|which is outside the checkpoint", getpid(), pid_fd);
	return pid_fd >= 0;
}

static bool works_pidfd(void)
{
	struct pollfd poll_pidfd = { .fd = pid_fd, .events = POLLIN };

	return poll(&poll_pidfd, 1, 0) == 0;
}

static void *one_more(void *tid)
{
	*(pid_t *)tid = gettid();
	while (!crt_go())
		crt_sleep_ms(20);
	return NULL;
}

static bool make_pidfd_thread(void)
{
	static volatile pid_t tid;
	pthread_t id;

	CRT_SYS(-pthread_create(&id, NULL, one_more, (void *)&tid));
	while (!tid)
		crt_sleep_ms(1);
	thread_fd = (int)syscall(SYS_pidfd_open, tid, O_EXCL);	/* PIDFD_THREAD, since Linux 6.9 */
	return expect_fd(thread_fd, "pidfd of a thread other than the first");
}

static bool make_secretmem(void)
{
	return expect_fd((int)syscall(447, 0), "secretmem");	/* memfd_secret() */
}

/* ---- files ---- */

static bool make_dnotify(void)
{
	int fd = open(crt_dir(), O_RDONLY | O_DIRECTORY);

	signal(SIGIO, SIG_IGN);
	if (fcntl(fd, F_NOTIFY, DN_CREATE | DN_MULTISHOT))
		return false;
	return expect_fd(fd, "directory notification (dnotify)");
}

/* ---- memory ---- */

/* Nobody writes to the pipe. */
static bool wait_by_aio(void)
{
	struct iocb request = { .aio_lio_opcode = IOCB_CMD_POLL, .aio_buf = POLLIN }, *all = &request;
	aio_context_t context = 0;
	int ends[2];

	if (syscall(SYS_io_setup, 4, &context))
		return false;
	CRT_SYS(pipe(ends));
	request.aio_fildes = (unsigned int)ends[0];
	return syscall(SYS_io_submit, context, 1L, &all) == 1;
}

static bool make_aio(void)
{
	if (!wait_by_aio())
		return false;
	crt_expect("pid %d|requests of asynchronous I/O (io_submit) are under way", getpid());
	return true;
}

/* ---- of the process ---- */

static pid_t child;

static void child_ends_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* Each obstacle is told with the process that has it. */
static bool make_child(void)
{
	int ready[2];
	char c;

	CRT_SYS(pipe(ready));
	child = (pid_t)CRT_SYS(fork());
	if (!child) {
		if (!wait_by_aio())
			_exit(1);
		close(ready[1]);
		child_ends_with_parent();
	}
	close(ready[1]);
	CRT_SYS(read(ready[0], &c, 1));
	close(ready[0]);
	crt_expect("pid %d|requests of asynchronous I/O (io_submit) are under way", child);
	return true;
}

static bool has_area(pid_t pid, const char *name)
{
	char path[64], line[512];
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	while (maps && !found && fgets(line, sizeof(line), maps))
		found = strstr(line, name);
	if (maps)
		fclose(maps);
	return found;
}

/* fork(2) copies the ring, and not the context; newer kernels neither. */
static bool make_aio_inherited(void)
{
	aio_context_t context = 0;

	if (syscall(SYS_io_setup, 4, &context))
		return false;
	child = (pid_t)CRT_SYS(fork());
	if (!child)
		child_ends_with_parent();
	if (!has_area(child, "[aio]"))
		return false;
	crt_expect("pid %d|a ring of asynchronous I/O (io_setup) that is not the process's own, or part of one, is not supported", child);
	return true;
}

static bool make_aio_unmapped(void)
{
	aio_context_t context = 0;

	if (syscall(SYS_io_setup, 4, &context))
		return false;
	CRT_SYS(munmap((void *)context, (size_t)sysconf(_SC_PAGESIZE)));
	crt_expect("pid %d|asynchronous I/O context (io_setup) %lx: its ring is not mapped", getpid(), (unsigned long)context);
	return true;
}

/* Where the program counts what it has taken. */
static bool make_aio_overwritten(void)
{
	aio_context_t context = 0;

	if (syscall(SYS_io_setup, 4, &context))
		return false;
	((unsigned int *)context)[2] = ~0U;
	crt_expect("pid %d|asynchronous I/O context (io_setup) %lx: its ring cannot be read, or has been written over", getpid(),
		   (unsigned long)context);
	return true;
}

static bool works_child(void)
{
	int status;

	return !kill(child, SIGTERM) && waitpid(child, &status, 0) == child && WTERMSIG(status) == SIGTERM;
}

static bool make_seccomp_listener(void)
{
	struct sock_filter allow = { .code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW };
	struct sock_fprog program = { .len = 1, .filter = &allow };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) < 0)
		return false;
	crt_expect("pid %d|thread %d|a seccomp filter with a listener (user notification)", getpid(), gettid());
	return true;
}

static bool make_landlock(void)
{
	uint64_t handled = 1;				/* LANDLOCK_ACCESS_FS_EXECUTE */
	int ruleset = (int)syscall(444, &handled, sizeof(handled), 0);	/* landlock_create_ruleset */

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (ruleset < 0 || syscall(446, ruleset, 0))	/* landlock_restrict_self */
		return false;
	CRT_SYS(close(ruleset));
	crt_expect("pid %d|thread %d|restrictions by Landlock", getpid(), gettid());
	return true;
}

/* Traces an orphan that lets it. */
static pid_t tracee;

static bool make_tracer(void)
{
	int fds[2];

	CRT_SYS(pipe(fds));
	if (!fork()) {
		pid_t me = getppid();

		if (fork())
			_exit(0);
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
		tracee = getpid();
		(void)!write(fds[1], &tracee, sizeof(tracee));
		close(fds[0]);
		close(fds[1]);
		while (!kill(me, 0) && access(crt_path("go"), F_OK))
			crt_sleep_ms(20);
		_exit(0);
	}
	CRT_SYS(wait(NULL));
	close(fds[1]);
	if (read(fds[0], &tracee, sizeof(tracee)) != sizeof(tracee) || ptrace(PTRACE_SEIZE, tracee, 0, 0))
		return false;
	close(fds[0]);
	crt_expect("pid %d|traces other processes (ptrace)", getpid());
	return true;
}

/* Attached by an orphan, so that the tracer is no child. */
static bool make_ptraced(void)
{
	char byte;
	pid_t me = getpid();
	int fds[2], start[2];

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	CRT_SYS(pipe(fds));
	CRT_SYS(pipe(start));
	if (!fork()) {
		if (fork())
			_exit(0);
		close(fds[0]);
		/* Not before the SIGCHLD of its parent: that would stop a traced process for good. */
		if (read(start[0], &byte, 1) != 1)
			_exit(1);
		if (ptrace(PTRACE_SEIZE, me, 0, 0)) {
			(void)!write(fds[1], "n", 1);
			_exit(1);
		}
		(void)!write(fds[1], "y", 1);
		close(fds[1]);
		while (!kill(me, 0) && access(crt_path("go"), F_OK))
			crt_sleep_ms(20);
		_exit(0);
	}
	CRT_SYS(wait(NULL));
	close(fds[1]);
	CRT_SYS(write(start[1], "s", 1));
	if (read(fds[0], &byte, 1) != 1 || byte != 'y')
		return false;
	close(fds[0]);
	close(start[0]);
	close(start[1]);
	crt_expect("pid %d|is being traced (ptrace) by", me);
	return true;
}

/* ---- threads that do not share everything ---- */

static pid_t odd_tid;
static int odd_what;
static pthread_barrier_t odd_ready;

static void *odd_thread(void *arg)
{
	(void)arg;
	odd_tid = gettid();
	CRT_SYS(unshare(odd_what));
	pthread_barrier_wait(&odd_ready);
	while (!crt_go())
		crt_sleep_ms(20);
	return NULL;
}

static bool make_odd(int what, const char *word)
{
	pthread_t id;

	odd_what = what;
	pthread_barrier_init(&odd_ready, NULL, 2);
	CRT_SYS(-pthread_create(&id, NULL, odd_thread, NULL));
	pthread_barrier_wait(&odd_ready);
	crt_expect("pid %d|thread %d|%s", getpid(), odd_tid, word);
	return true;
}

static bool make_own_files(void)
{
	return make_odd(CLONE_FILES, "a descriptor table of its own");
}

static int undo_set;

static bool make_shared_undo(void)
{
	struct sembuf up = { .sem_op = 1, .sem_flg = SEM_UNDO };

	undo_set = (int)CRT_SYS(semget(IPC_PRIVATE, 1, 0600));
	CRT_SYS(semop(undo_set, &up, 1));
	if (!CRT_SYS(syscall(SYS_clone, CLONE_SYSVSEM | SIGCHLD, NULL, NULL, NULL, 0L))) {
		while (access(crt_path("go"), F_OK))
			crt_sleep_ms(20);
		_exit(0);
	}
	crt_expect("pid %d|System V semaphore adjustments (SEM_UNDO) shared with another process (CLONE_SYSVSEM)", getpid());
	return true;
}

static bool works_shared_undo(void)
{
	wait(NULL);
	return semctl(undo_set, 0, GETVAL) == 1 && !semctl(undo_set, 0, IPC_RMID);
}

static bool make_mount_namespace(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return false;
	for (int i = 0; i < 2; i++)
		if (mount("none", "/mnt", "tmpfs", 0, NULL))
			return false;
	crt_expect("pid %d|mount /mnt (tmpfs): one that is covered by another one, and that the requester does not have", getpid());
	return true;
}

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return written;
}

/* The device that hides a file in an overlay, which any user may make, in a tmpfs. */
static bool make_device_in_tmpfs(void)
{
	char uid[32], gid[32];

	snprintf(uid, sizeof(uid), "0 %d 1", (int)getuid());
	snprintf(gid, sizeof(gid), "0 %d 1", (int)getgid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) || !write_text("/proc/self/setgroups", "deny") ||
	    !write_text("/proc/self/uid_map", uid) || !write_text("/proc/self/gid_map", gid) ||
	    mount("none", "/mnt", "tmpfs", 0, NULL) || mkdir("/mnt/dir", 0700) ||
	    mknod("/mnt/dir/device", S_IFCHR | 0600, 0) || !write_text("/mnt/dir/secret", "x") ||
	    chmod("/mnt/dir/secret", 0200))
		return false;
	crt_expect("pid %d|mount /mnt: /dir/secret: file in a temporary file system that the requester may not read is not supported",
		   getpid());
	crt_expect("pid %d|mount /mnt: /dir/device: device in a temporary file system", getpid());
	return true;
}

/* ---- namespaces ---- */

static int outer_socket;

static bool make_network(void)
{
	struct ifreq lo = { .ifr_name = "lo:1" };
	int left, fd;

	outer_socket = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, 0));
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	left = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, 0));
	CRT_SYS(unshare(CLONE_NEWNET));
	fd = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, 0));
	lo.ifr_addr.sa_family = AF_INET;
	inet_pton(AF_INET, "10.9.8.7", &((struct sockaddr_in *)&lo.ifr_addr)->sin_addr);
	CRT_SYS(ioctl(fd, SIOCSIFADDR, &lo));
	close(fd);
	crt_expect("pid %d|address 10.9.8.7|of a network namespace other than the requester's is not supported", getpid());
	return expect_fd(left, "socket (of a network namespace that no process of the job is in)");
}

struct obstacle obstacles[] = {
	{ .name = "unix-outside", .make = make_unix_stream },
	{ .name = "udp", .make = make_udp, .works = works_udp },
	{ .name = "tcp", .make = make_tcp },
	{ .name = "accept-queue", .make = make_accept_queue },
	{ .name = "netlink", .make = make_netlink },
	{ .name = "fanotify", .make = make_fanotify, .works = works_fanotify },
	{ .name = "userfaultfd", .make = make_userfaultfd },
	{ .name = "io_uring", .make = make_io_uring, .works = works_io_uring },
	{ .name = "ring-buffers", .make = make_ring_buffers },
	{ .name = "pidfd", .make = make_pidfd, .works = works_pidfd },
	{ .name = "pidfd-thread", .make = make_pidfd_thread },
	{ .name = "secretmem", .make = make_secretmem },
	{ .name = "dnotify", .make = make_dnotify },
	{ .name = "aio", .make = make_aio },
	{ .name = "aio-unmapped", .make = make_aio_unmapped },
	{ .name = "aio-overwritten", .make = make_aio_overwritten },
	{ .name = "seccomp-listener", .make = make_seccomp_listener, .alone = true },
	{ .name = "landlock", .make = make_landlock, .alone = true },
	{ .name = "tracer", .make = make_tracer, .alone = true },
	{ .name = "child", .make = make_child, .works = works_child, .alone = true },
	{ .name = "aio-inherited", .make = make_aio_inherited, .alone = true },
	{ .name = "ptraced", .make = make_ptraced, .alone = true },
	{ .name = "own-files", .make = make_own_files, .alone = true },
	{ .name = "shared-undo", .make = make_shared_undo, .works = works_shared_undo, .alone = true },
	{ .name = "mount-namespace", .make = make_mount_namespace, .alone = true },
	{ .name = "tmpfs-device", .make = make_device_in_tmpfs, .alone = true },
	{ .name = "network", .make = make_network, .alone = true },
};

const unsigned int nr_obstacles = sizeof(obstacles) / sizeof(obstacles[0]);

const struct crt_test crt_test = {
	.text = "what is not supported is refused by name, all at once, and runs on unharmed",
	.setup = refuse_setup,
	.verify = refuse_verify,
	.flags = CRT_REFUSE,
	.cases = "unix-outside udp tcp accept-queue netlink fanotify userfaultfd io_uring ring-buffers pidfd pidfd-thread "
		 "secretmem dnotify aio aio-unmapped aio-overwritten "
		 "seccomp-listener landlock tracer child aio-inherited ptraced own-files shared-undo mount-namespace tmpfs-device network",
};
