// SPDX-License-Identifier: GPL-2.0-only
/* The same as refuse.c, for what takes root to have. */
#define _GNU_SOURCE
#include "hugetlb.h"
#include "refuse-run.h"
#include <dirent.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_tun.h>
#include <linux/net_tstamp.h>
#include <linux/netlink.h>
#include <mqueue.h>
#include <linux/perf_event.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <termios.h>
#if __has_include(<sys/io.h>)	/* some have the number of the call, but no ports */
#include <sys/io.h>
#define HAS_PORTS
#endif

#ifndef TCP_ULP
#define TCP_ULP 31
#endif

static int fanotify_fd;

static void open_marked(void *path)
{
	if (!fork()) {
		(void)!open(path, O_RDONLY);
		_exit(0);
	}
	crt_sleep_ms(300);
}

/* Somebody waits to be let in. */
static bool make_fanotify(void)
{
	const char *path = crt_make_file("guarded", 1, 1);

	fanotify_fd = fanotify_init(FAN_CLASS_CONTENT, O_RDONLY | O_CLOEXEC);
	if (fanotify_fd < 0 || fanotify_mark(fanotify_fd, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, path))
		return false;
	refuse_leave_orphan(open_marked, (void *)path);
	return expect_fd(fanotify_fd, "permission events that have not been answered");
}

static bool works_fanotify(void)
{
	struct fanotify_event_metadata event;
	struct fanotify_response answer = { .response = FAN_ALLOW };

	if (read(fanotify_fd, &event, sizeof(event)) != sizeof(event) || event.mask != FAN_OPEN_PERM)
		return false;
	answer.fd = event.fd;
	return write(fanotify_fd, &answer, sizeof(answer)) == sizeof(answer);
}

static bool make_packet(void)
{
	return expect_fd(socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)), "packet socket (AF_PACKET) is not supported");
}

static bool make_unknown_family(void)
{
	return expect_fd(socket(AF_KEY, SOCK_RAW, 2), "socket (only Unix, TCP, UDP, raw, ping and netlink sockets are supported)");
}

/* A raw socket with an option that the kernel does not tell. */
static bool make_raw(void)
{
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), on = 1;

	return !setsockopt(fd, IPPROTO_IP, IP_ROUTER_ALERT, &on, sizeof(on)) &&
	       expect_fd(fd, "raw socket with IP_ROUTER_ALERT");
}

static bool make_raw_options(void)
{
	static const unsigned char options[] = { 1, 1, 1, 0 };
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);

	return !setsockopt(fd, IPPROTO_IP, IP_OPTIONS, options, sizeof(options)) &&
	       expect_fd(fd, "raw or ping socket with IP options or extension headers");
}

/* The time at which a packet was sent comes by the error queue. */
static bool make_raw_error(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
	int times = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
	char packet[8] = { 0 };

	return !setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &times, sizeof(times)) &&
	       sendto(fd, packet, sizeof(packet), 0, (struct sockaddr *)&to, sizeof(to)) > 0 &&
	       expect_fd(fd, "raw or ping socket with messages in its error queue");
}

static bool make_multicast_router(void)
{
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_IGMP), on = 1;

	return !setsockopt(fd, IPPROTO_IP, 200 /* MRT_INIT */, &on, sizeof(on)) &&
	       expect_fd(fd, "raw socket that may be the one of a multicast router");
}

/* "return 0" of @type, or -1. */
static int bpf_program(uint32_t type)
{
	struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = { .prog_type = type, .insn_cnt = 2, .insns = (uint64_t)(uintptr_t)program,
				.license = (uint64_t)(uintptr_t)"GPL" };

	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static bool has_ebpf(uint32_t type, int option, const char *word)
{
	int program = bpf_program(type), fd, on = 1;

	if (program < 0)
		return false;
	fd = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, 0));
	CRT_SYS(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)));
	CRT_SYS(setsockopt(fd, SOL_SOCKET, option, &program, sizeof(program)));
	close(program);
	return expect_fd(fd, word);
}

static bool make_ebpf_filter(void)
{
	return has_ebpf(BPF_PROG_TYPE_SOCKET_FILTER, SO_ATTACH_BPF, "socket with an eBPF filter (SO_ATTACH_BPF)");
}

static bool make_ebpf_choice(void)
{
	return has_ebpf(BPF_PROG_TYPE_SOCKET_FILTER, SO_ATTACH_REUSEPORT_EBPF,
			"socket with an eBPF program that chooses among sockets (SO_ATTACH_REUSEPORT_EBPF)");
}

/* The one that waits does not have what its listening socket has got since. */
static bool make_filtered_later(void)
{
	struct sock_filter all = { .code = BPF_RET | BPF_K, .k = 0xffff };
	struct sock_fprog program = { .len = 1, .filter = &all };
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(name);
	int fd = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));

	CRT_SYS(bind(fd, (struct sockaddr *)&name, len));
	CRT_SYS(getsockname(fd, (struct sockaddr *)&name, &len));
	CRT_SYS(listen(fd, 1));
	CRT_SYS(connect((int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0)), (struct sockaddr *)&name, sizeof(name)));
	CRT_SYS(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)));
	return expect_fd(fd, "a connection that has not been accepted yet has another filter than its socket");
}

/* Of a process that has ended, whose namespace nobody else is in. */
static int empty_namespace(int type, const char *file)
{
	char path[64], byte;
	int ready[2], fd;
	pid_t pid;

	CRT_SYS(pipe(ready));
	pid = (pid_t)CRT_SYS(fork());
	if (!pid) {
		if (!unshare(type) && write(ready[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		return -1;
	close(ready[0]);
	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, file);
	fd = (int)CRT_SYS(open(path, O_RDONLY));
	CRT_SYS(kill(pid, SIGKILL));
	CRT_SYS(waitpid(pid, NULL, 0));
	return fd;
}

static bool make_empty_namespace(void)
{
	return expect_fd(empty_namespace(CLONE_NEWNET, "net"), "namespace that no process of the job is in");
}

static bool make_time_namespace(void)
{
	return expect_fd(empty_namespace(CLONE_NEWTIME, "time_for_children"), "pid or time namespace other than the requester's");
}

static bool make_bpf(void)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1 };

	return expect_fd((int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)), "bpf");
}

static bool make_block(void)
{
	DIR *dir = opendir("/sys/class/block");
	char path[300];
	int fd = -1;

	for (struct dirent *e; dir && fd < 0 && (e = readdir(dir));) {
		snprintf(path, sizeof(path), "/dev/%s", e->d_name);
		if (e->d_name[0] != '.')
			fd = open(path, O_RDONLY);
	}
	if (dir)
		closedir(dir);
	return expect_fd(fd, "block device (without --device)");
}

static char *huge;

/* Memory of the default size of huge pages, and a descriptor of its file. */
static int open_huge(int kind)
{
	size_t size = huge_size();
	char path[64];

	if (!size)
		return -1;
	crt_put("/proc/sys/vm/nr_overcommit_hugepages", "4", 0);
	huge = mmap(NULL, size, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (huge == MAP_FAILED)
		return -1;
	huge[100] = 'h';
	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", (unsigned long)huge, (unsigned long)(huge + size));
	return open(path, O_RDWR);
}

static bool make_hugetlb(void)
{
	int fd = open_huge(MAP_SHARED);

	return fd >= 0 && expect_fd(fd, "a descriptor of anonymous hugetlb memory");
}

/* There is something in the file of private memory. */
static bool make_hugetlb_written(void)
{
	int fd = open_huge(MAP_PRIVATE);
	char *shared;

	if (fd < 0)
		return false;
	shared = mmap(NULL, huge_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		return false;
	shared[100] = 's';
	close(fd);
	crt_expect("pid %d|%lx|private hugetlb memory whose file has been opened and written to", getpid(),
		   (unsigned long)huge);
	return true;
}

static bool works_hugetlb(void)
{
	return huge[100] == 'h';
}

static bool make_ioperm(void)
{
#ifdef HAS_PORTS
	if (ioperm(0x80, 1, 1))
		return false;
	crt_expect("pid %d|access to I/O ports (ioperm, iopl)", getpid());
	return true;
#else
	return false;
#endif
}

static bool works_ioperm(void)
{
#ifdef HAS_PORTS
	outb(0, 0x80);
#endif
	return true;
}

static bool make_locked_terminal(void)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY), unlocked = 0;
	struct termios locked = { .c_iflag = IXON };

	CRT_SYS(ioctl(fd, TIOCSPTLCK, &unlocked));
	if (ioctl(CRT_SYS(open(ptsname(fd), O_RDWR | O_NOCTTY)), TIOCSLCKTRMIOS, &locked))
		return false;
	return expect_fd(fd, "a terminal with locked settings (TIOCSLCKTRMIOS)");
}

static bool make_repair(void)
{
	int fd = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0)), on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)))
		return false;
	return expect_fd(fd, "connection under repair (TCP_REPAIR)");
}

/* Only root has the kernel load what this takes. */
static bool make_tls(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int waiting = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0)), fd = (int)CRT_SYS(socket(AF_INET, SOCK_STREAM, 0));
	socklen_t len = sizeof(name);

	CRT_SYS(bind(waiting, (struct sockaddr *)&name, len));
	CRT_SYS(listen(waiting, 1));
	CRT_SYS(getsockname(waiting, (struct sockaddr *)&name, &len));
	CRT_SYS(connect(fd, (struct sockaddr *)&name, len));
	CRT_SYS(accept(waiting, NULL, NULL));
	if (setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls")))
		return false;
	return expect_fd(fd, "connection with a protocol on top of TCP in the kernel (TLS)");
}

static bool make_perf(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
					.config = PERF_COUNT_SW_TASK_CLOCK };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (fd >= 0)
		crt_expect("pid %d|thread %d: performance counters (perf_event_open) are not supported", getpid(), gettid());
	return expect_fd(fd, "[perf_event]): descriptor of this type");
}

static bool make_all_namespaces(void)
{
	int fd = (int)CRT_SYS(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE)), on = 1;

	if (setsockopt(fd, SOL_NETLINK, NETLINK_LISTEN_ALL_NSID, &on, sizeof(on)))
		return false;
	return expect_fd(fd, "netlink socket that listens to all network namespaces");
}

static bool make_device_memory(void)
{
	int fd = open("/dev/mem", O_RDONLY);
	void *where = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0xf0000);

	if (where == MAP_FAILED)
		return false;
	crt_expect("pid %d|memory %lx|memory of a device", getpid(), (unsigned long)where);
	return true;
}

/* Opened through the mapping, the only way to it. */
static bool make_sysv_file(void)
{
	int segment = (int)CRT_SYS(shmget(IPC_PRIVATE, 4096, 0600));
	char *where = CRT_MAP(shmat(segment, NULL, 0)), path[96];

	CRT_SYS(shmctl(segment, IPC_RMID, NULL));
	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", (unsigned long)where, (unsigned long)where + 4096);
	return expect_fd(open(path, O_RDWR), "a descriptor of System V shared memory");
}

static bool make_character_device(void)
{
	return expect_fd(open("/dev/kmsg", O_RDONLY), "(/dev/kmsg): character device (without --device)");
}

static pid_t odd_tid;
static pthread_barrier_t odd_ready;

static void *named_thread(void *arg)
{
	(void)arg;
	odd_tid = gettid();
	CRT_SYS(unshare(CLONE_NEWUTS));
	pthread_barrier_wait(&odd_ready);
	while (!crt_go())
		crt_sleep_ms(20);
	return NULL;
}

static bool make_own_namespaces(void)
{
	pthread_t id;

	pthread_barrier_init(&odd_ready, NULL, 2);
	CRT_SYS(-pthread_create(&id, NULL, named_thread, NULL));
	pthread_barrier_wait(&odd_ready);
	crt_expect("pid %d|thread %d: namespaces of its own are not supported", getpid(), odd_tid);
	return true;
}

static void *bystander(void *arg)
{
	pthread_barrier_wait(arg);
	while (!crt_go())
		crt_sleep_ms(20);
	return NULL;
}

/* The second thread has not got the namespace, so that it is an obstacle too. */
static bool make_threads_of_pid_namespace(void)
{
	pthread_t id;

	pthread_barrier_init(&odd_ready, NULL, 2);
	CRT_SYS(-pthread_create(&id, NULL, bystander, &odd_ready));
	pthread_barrier_wait(&odd_ready);
	CRT_SYS(unshare(CLONE_NEWPID));
	if (!CRT_SYS(fork()))
		for (;;)
			pause();
	crt_expect("pid %d|threads with a pid namespace for their children are not supported", getpid());
	return true;
}

static pid_t idle_child(void)
{
	pid_t pid = (pid_t)CRT_SYS(fork());

	while (!pid)
		pause();
	return pid;
}

/* As of unshare --pid without --fork. */
static bool make_second_in_namespace(void)
{
	pid_t second;

	CRT_SYS(unshare(CLONE_NEWPID));
	idle_child();
	second = idle_child();
	crt_expect("pid %d|a process whose parent is outside its pid namespace, and that is not the init of that namespace, is not supported", second);
	return true;
}

/* Whose parent was forked into it, and is gone. */
static bool make_orphan_in_time(void)
{
	pid_t *orphan = CRT_MAP(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	pid_t between;

	if (access("/proc/self/ns/time_for_children", F_OK))
		return false;
	CRT_SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
	if (!CRT_SYS(fork())) {
		CRT_SYS(unshare(CLONE_NEWTIME));
		between = (pid_t)CRT_SYS(fork());
		if (!between) {
			*orphan = idle_child();
			_exit(0);
		}
		CRT_SYS(waitpid(between, NULL, 0));
		orphan[1] = 1;
		for (;;)
			pause();
	}
	while (!((volatile pid_t *)orphan)[1])
		crt_sleep_ms(10);
	crt_expect("pid %d|a time namespace made for children by a process that is not its parent is not supported", *orphan);
	return true;
}

static bool make_device_of_network(void)
{
	struct ifreq tap = { .ifr_name = "crtest0", .ifr_flags = IFF_TAP | IFF_NO_PI };
	int fd;

	CRT_SYS(mknod(crt_path("tun"), S_IFCHR | 0600, makedev(10, 200)));
	CRT_SYS(unshare(CLONE_NEWNET));
	fd = open(crt_path("tun"), O_RDWR);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &tap))
		return false;
	crt_expect("pid %d|network device crtest0 in a network namespace other than the requester's is not supported", getpid());
	return true;
}

/* One that the driver makes in each namespace, which somebody has begun to use. */
static bool make_fallback_tunnel(void)
{
	struct ifreq up = { .ifr_name = "tunl0", .ifr_flags = IFF_UP };
	pid_t pid = (pid_t)CRT_SYS(fork());
	int fd;

	if (!pid) {
		execlp("modprobe", "modprobe", "-q", "ipip", NULL);
		_exit(127);
	}
	CRT_SYS(waitpid(pid, NULL, 0));
	CRT_SYS(unshare(CLONE_NEWNET));
	fd = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	if (ioctl(fd, SIOCSIFFLAGS, &up))
		return false;
	CRT_SYS(close(fd));
	crt_expect("pid %d|network device tunl0 in a network namespace other than the requester's is not supported", getpid());
	return true;
}

static bool make_namespace(int flag, const char *what)
{
	if (unshare(flag))
		return false;
	crt_expect("pid %d|%s", getpid(), what);
	return true;
}

static bool make_mount_namespace(void)
{
	bool made = make_namespace(CLONE_NEWNS, "mount /mnt|/kmsg|device in a temporary file system");

	CRT_SYS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CRT_SYS(mount("none", "/mnt", "tmpfs", 0, NULL));
	CRT_SYS(mknod("/mnt/kmsg", S_IFCHR | 0666, makedev(1, 11)));
	return made;
}

static bool make_pid_namespace(void)
{
	bool made = make_namespace(CLONE_NEWPID, "a pid namespace without processes for its children that is of another user namespace");

	return made && !unshare(CLONE_NEWUSER);
}

/* An unused segment would go when its maker does. */
static bool make_ipc_namespace(void)
{
	bool made = make_namespace(CLONE_NEWIPC, "System V shared memory in an ipc namespace with kernel.shm_rmid_forced");
	FILE *f = fopen("/proc/sys/kernel/shm_rmid_forced", "w");

	if (f) {
		fputs("1\n", f);
		fclose(f);
	}
	return made && f && shmget(IPC_PRIVATE, 4096, 0600) >= 0;
}

/* The namespace that it is of has been left. */
static bool make_foreign_queue(void)
{
	if (unshare(CLONE_NEWIPC) || mq_open("/foreign", O_CREAT | O_RDONLY, 0600, NULL) < 0)
		return false;
	return make_namespace(CLONE_NEWIPC, "POSIX message queue foreign: it is of an ipc namespace that no process of the job is in");
}

static int thread_root;				/* tid, when it has what it is about */
static char covered[1024];

static void *live_in_covered(void *arg)
{
	(void)arg;
	CRT_SYS(unshare(CLONE_FS));
	CRT_SYS(chroot(covered));
	__atomic_store_n(&thread_root, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	for (;;)
		pause();
	return NULL;
}

static int thread_in(const char *directory)
{
	pthread_t id;

	strcpy(covered, directory);
	thread_root = 0;
	CRT_SYS(mkdir(covered, 0755));
	CRT_SYS(-pthread_create(&id, NULL, live_in_covered, NULL));
	while (!__atomic_load_n(&thread_root, __ATOMIC_ACQUIRE))
		crt_sleep_ms(10);
	return thread_root;
}

static bool make_removed_root(void)
{
	int tid = thread_in(crt_path("removed-root"));

	CRT_SYS(rmdir(covered));
	crt_expect("thread %d: a root directory that has been removed is not supported", tid);
	return true;
}

static bool make_covered_root(void)
{
	int tid = thread_in(crt_path("covered-root"));

	CRT_SYS(mount("none", covered, "tmpfs", 0, NULL));
	crt_expect("thread %d: a root directory that no path leads to (under another mount, unmounted, or outside of the requester's) is not supported",
		   tid);
	return true;
}

static bool works_covered_root(void)
{
	return !umount(covered);
}

/* What another process of the job has in a mount namespace of its own. */
static bool enter_other_mounts(bool root)
{
	char path[64], byte;
	int ready[2];
	pid_t child;

	CRT_SYS(pipe(ready));
	child = (pid_t)CRT_SYS(fork());
	if (!child) {
		CRT_SYS(unshare(CLONE_NEWNS));
		CRT_SYS(write(ready[1], "r", 1));
		for (;;)
			pause();
	}
	CRT_SYS(read(ready[0], &byte, 1));
	snprintf(path, sizeof(path), "/proc/%d/root", child);
	CRT_SYS(chdir(path));
	if (root) {
		CRT_SYS(chroot("."));
		crt_expect("thread %d: a root directory in a mount namespace other than its own is not supported", getpid());
	} else {
		crt_expect("thread %d: a working directory in a mount namespace other than its own is not supported", getpid());
	}
	return true;
}

static bool make_foreign_root(void)
{
	return enter_other_mounts(true);
}

static bool make_foreign_directory(void)
{
	return enter_other_mounts(false);
}

struct obstacle obstacles[] = {
	{ .name = "fanotify", .make = make_fanotify, .works = works_fanotify },
	{ .name = "packet", .make = make_packet },
	{ .name = "raw", .make = make_raw },
	{ .name = "raw-options", .make = make_raw_options },
	{ .name = "raw-error", .make = make_raw_error },
	{ .name = "multicast-router", .make = make_multicast_router },
	{ .name = "unknown-family", .make = make_unknown_family },
	{ .name = "removed-root", .make = make_removed_root },
	{ .name = "covered-root", .make = make_covered_root, .works = works_covered_root },
	{ .name = "bpf", .make = make_bpf },
	{ .name = "empty-namespace", .make = make_empty_namespace },
	{ .name = "time-namespace", .make = make_time_namespace },
	{ .name = "ebpf-filter", .make = make_ebpf_filter },
	{ .name = "ebpf-choice", .make = make_ebpf_choice },
	{ .name = "filtered-later", .make = make_filtered_later },
	{ .name = "block", .make = make_block },
	{ .name = "hugetlb", .make = make_hugetlb, .works = works_hugetlb },
	{ .name = "hugetlb-written", .make = make_hugetlb_written, .works = works_hugetlb },
	{ .name = "ioperm", .make = make_ioperm, .works = works_ioperm },
	{ .name = "locked-terminal", .make = make_locked_terminal },
	{ .name = "repair", .make = make_repair },
	{ .name = "tls", .make = make_tls },
	{ .name = "perf", .make = make_perf },
	{ .name = "all-namespaces", .make = make_all_namespaces },
	{ .name = "device-memory", .make = make_device_memory },
	{ .name = "sysv-file", .make = make_sysv_file },
	{ .name = "character-device", .make = make_character_device },
	{ .name = "pid-namespace", .make = make_pid_namespace, .alone = true },
	{ .name = "ipc-namespace", .make = make_ipc_namespace, .alone = true },
	{ .name = "foreign-queue", .make = make_foreign_queue, .alone = true },
	{ .name = "mount-namespace", .make = make_mount_namespace, .alone = true },
	{ .name = "foreign-root", .make = make_foreign_root, .alone = true },
	{ .name = "foreign-directory", .make = make_foreign_directory, .alone = true },
	{ .name = "own-namespaces", .make = make_own_namespaces, .alone = true },
	{ .name = "pid-namespace-threads", .make = make_threads_of_pid_namespace, .alone = true },
	{ .name = "second-in-namespace", .make = make_second_in_namespace, .alone = true },
	{ .name = "orphan-in-time", .make = make_orphan_in_time, .alone = true },
	{ .name = "network-device", .make = make_device_of_network, .alone = true },
	{ .name = "fallback-tunnel", .make = make_fallback_tunnel, .alone = true },
};

const unsigned int nr_obstacles = sizeof(obstacles) / sizeof(obstacles[0]);

const struct crt_test crt_test = {
	.text = "what only root can hold is refused by name too",
	.setup = refuse_setup,
	.verify = refuse_verify,
	.flags = CRT_REFUSE | CRT_ROOT,
	.cases = "fanotify packet raw bpf block hugetlb hugetlb-written ioperm pid-namespace ipc-namespace foreign-queue mount-namespace "
		 "foreign-root foreign-directory "
		 "own-namespaces pid-namespace-threads second-in-namespace orphan-in-time network-device fallback-tunnel",
};
