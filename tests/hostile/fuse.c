// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuse - a file system in user space that can stop answering, without any library, and processes that use it
 *
 *	fuse MOUNTPOINT			mounts it there, and serves it: "file" of 64 KiB of zeros, "dir", and no caching of names or
 *					attributes. Prints "ready". From SIGUSR1 on it takes requests, names them on standard error
 *					and answers none; from SIGUSR2 on it does again, to all that come then.
 *	fuse MOUNTPOINT FILE HOLD	"file" has the contents of FILE, and names and attributes are cached.  As long as there is a file
 *					HOLD, no read is answered; HOLD.asked says that there has been one.
 *					With a user id in $FUSE_USER, it is that user's mount, as fusermount(1) makes them.
 *					With $FUSE_HUGE=data, "file" is of 1 EiB, all zero; with $FUSE_HUGE=holes it is, too, and each hole in
 *					it is said to begin at 0.
 *	fuse removed MOUNTPOINT		a process that has "file" open, which it has removed; prints "ready"
 *	fuse hold MOUNTPOINT		a process whose working directory, open file, mapping and watches are there; prints "ready"
 *	fuse ring MOUNTPOINT		a process with a ring of io_setup(2) whose first page is another one, and all others those of the
 *					file: what it says is there is the server's; prints "ready"
 *	fuse vdso MOUNTPOINT		a process at rest whose memory another one has, too (CLONE_VM), which puts a page of the file in the place of the
 *					vdso, and the vdso back, again and again; prints "ready"
 *	fuse position MOUNTPOINT PID MS	on SIGUSR1, after "ready": another process reads the file, and a checkpoint of PID is written to the same
 *					open file, with a limit of MS. Prints its errno value.
 *
 * As root, or by who is that in a user and mount namespace of his own.  A server ends when it is killed, and with it what waits for it.
 */
#define _GNU_SOURCE
#include <cryo/ioctl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { NODE_FILE = 2, NODE_DIR = 3, FILE_SIZE = 65536, ROOM = 1 << 20 };

static volatile sig_atomic_t stalled;
static int device, backing = -1;
static const char *held_by;		/* NULL: none */
static const char *huge;		/* $FUSE_HUGE; NULL: not */
static char room[ROOM] __attribute__((aligned(8))), bytes[ROOM];

static void on_signal(int number)
{
	stalled = number == SIGUSR1;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void answer(uint64_t unique, int error, const void *data, size_t size)
{
	struct fuse_out_header head = { .len = sizeof(head) + size, .error = -error, .unique = unique };
	struct iovec parts[2] = { { &head, sizeof(head) }, { (void *)data, size } };

	/* ENOENT: who asked has been interrupted. */
	if (writev(device, parts, size ? 2 : 1) < 0 && errno != ENOENT)
		fail("write to /dev/fuse");
}

static struct fuse_attr attributes(uint64_t node)
{
	struct fuse_attr attr = { .ino = node, .nlink = 1, .uid = getuid(), .gid = getgid(), .blksize = 4096 };
	struct stat st = { .st_size = FILE_SIZE, .st_uid = getuid(), .st_gid = getgid() };

	if (backing >= 0 && fstat(backing, &st))
		fail("fstat");
	attr.mode = node == NODE_FILE ? S_IFREG | 0644 : S_IFDIR | 0755;
	attr.size = node != NODE_FILE ? 0 : huge ? 1ULL << 60 : (uint64_t)st.st_size;
	attr.blocks = st.st_blocks;
	attr.uid = st.st_uid;
	attr.gid = st.st_gid;
	attr.mtime = st.st_mtime;
	attr.ctime = st.st_ctime;
	return attr;
}

/* How long names and attributes are known. */
static uint64_t seconds(void)
{
	return backing >= 0 ? 1000 : 0;
}

static void look_up(uint64_t unique, const char *name)
{
	struct fuse_entry_out out = {
		.nodeid = !strcmp(name, "file") ? NODE_FILE : !strcmp(name, "dir") ? NODE_DIR : 0,
		.generation = 1, .entry_valid = seconds(), .attr_valid = seconds(),
	};

	out.attr = attributes(out.nodeid);
	answer(unique, out.nodeid ? 0 : ENOENT, &out, out.nodeid ? sizeof(out) : 0);
}

static void wait_while_held(void)
{
	char asked[4096];
	int fd;

	snprintf(asked, sizeof(asked), "%s.asked", held_by);
	while (!access(held_by, F_OK)) {
		fd = open(asked, O_WRONLY | O_CREAT, 0644);
		if (fd < 0)
			fail(asked);
		close(fd);
		usleep(20000);
	}
}

static void answer_read(uint64_t unique, const struct fuse_read_in *args)
{
	size_t size = args->size < ROOM ? args->size : ROOM;
	ssize_t n = args->offset >= FILE_SIZE && !huge ? 0 : size;

	if (held_by)
		wait_while_held();
	if (backing >= 0)
		n = pread(backing, bytes, size, args->offset);
	answer(unique, n < 0 ? errno : 0, bytes, n < 0 ? 0 : n);
}

static void serve(const struct fuse_in_header *in, const void *arg)
{
	struct fuse_attr_out attr = { .attr = attributes(in->nodeid), .attr_valid = seconds() };
	struct fuse_open_out open_out = { .fh = 1 };
	struct fuse_lseek_out lseek_out = {};
	struct fuse_statfs_out statfs_out = { .st.bsize = 4096, .st.namelen = 255 };
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .max_write = 131072, .max_readahead = backing >= 0 ? 131072 : 0,
		.max_background = 16, .congestion_threshold = 12,
	};

	switch (in->opcode) {
	case FUSE_INIT:
		init.minor = ((const struct fuse_init_in *)arg)->minor;
		return answer(in->unique, 0, &init, sizeof(init));
	case FUSE_GETATTR:
		return answer(in->unique, 0, &attr, sizeof(attr));
	case FUSE_LOOKUP:
		return look_up(in->unique, arg);
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		return answer(in->unique, 0, &open_out, sizeof(open_out));
	case FUSE_READ:
		return answer_read(in->unique, arg);
	case FUSE_LSEEK:
		if (!huge || strcmp(huge, "holes"))
			break;
		return answer(in->unique, 0, &lseek_out, sizeof(lseek_out));
	case FUSE_READDIR:
	case FUSE_UNLINK:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_DESTROY:
	case FUSE_ACCESS:
		return answer(in->unique, 0, NULL, 0);
	case FUSE_STATFS:
		return answer(in->unique, 0, &statfs_out, sizeof(statfs_out));
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	}
	answer(in->unique, ENOSYS, NULL, 0);
}

static int server(const char *point)
{
	const struct fuse_in_header *in = (const void *)room;
	const char *mounter = getenv("FUSE_USER");
	char options[128];
	ssize_t n;

	huge = getenv("FUSE_HUGE");
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (device < 0)
		fail("/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other", device,
		 mounter ? (unsigned int)atoi(mounter) : getuid(), getgid());
	if (mount("fuse", point, "fuse", MS_NOSUID | MS_NODEV, options))
		fail("mount");
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	puts("ready");
	fflush(stdout);
	for (;;) {
		n = read(device, room, sizeof(room));
		if (n < 0 && errno == ENODEV)
			return 0;
		if (n < 0 && errno != EINTR && errno != EAGAIN && errno != ENOENT)
			fail("read from /dev/fuse");
		if (n < (ssize_t)sizeof(*in))
			continue;
		if (stalled)
			fprintf(stderr, "request %u is not answered\n", in->opcode);
		else
			serve(in, in + 1);
	}
}

/* The server knows no FUSE_FLUSH: the kernel finds out at the first close(), and then asks no more who is killed. */
static void teach_flush(void)
{
	close(open("../file", O_RDONLY));
}

static void hold(const char *point)
{
	volatile char *map;
	int file, watches;

	if (chdir(point) || chdir("dir"))
		fail(point);
	teach_flush();
	file = open("../file", O_RDONLY);
	map = file < 0 ? MAP_FAILED : mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	if (map == MAP_FAILED)
		fail("../file");
	map[0] = 1;
	(void)map[8192];
	watches = inotify_init();
	if (inotify_add_watch(watches, "../file", IN_MODIFY) < 0 || inotify_add_watch(watches, ".", IN_CREATE) < 0)
		fail("inotify_add_watch");
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

static void hold_removed(const char *point)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/file", point);
	/* As teach_flush() */
	close(open(path, O_RDONLY));
	if (open(path, O_RDONLY) < 0 || unlink(path))
		fail(path);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

static void hold_ring(const char *point)
{
	enum { EVENTS = 1000, NR = 1, HEAD = 2, TAIL = 3 };
	long page = sysconf(_SC_PAGESIZE);
	aio_context_t ring = 0;
	uint32_t head[8];
	char *first;
	int file;

	if (chdir(point) || chdir("dir"))
		fail(point);
	teach_flush();
	file = open("../file", O_RDONLY);
	if (file < 0 || syscall(SYS_io_setup, EVENTS, &ring))
		fail("io_setup");
	memcpy(head, (void *)ring, sizeof(head));
	head[HEAD] = 0;
	head[TAIL] = head[NR] - 1;
	first = (char *)ring;
	if (mmap(first + page, FILE_SIZE - page, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) == MAP_FAILED ||
	    mmap(first, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		fail("mmap");
	memcpy(first, head, sizeof(head));
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

static char *vdso, *vdso_away, *page_away;
static size_t vdso_size;
static int over_vdso;

static void find_vdso(void)
{
	unsigned long start, end;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "[vdso]") || sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		vdso = (char *)start;
		vdso_size = end - start;
	}
	if (!vdso)
		fail("vdso");
	fclose(maps);
	vdso_away = mmap(NULL, vdso_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page_away = mmap(NULL, vdso_size, PROT_READ, MAP_PRIVATE, over_vdso, 0);
	if (vdso_away == MAP_FAILED || page_away == MAP_FAILED)
		fail("mmap");
}

/* System calls only: the stack is one of its own, and the C library is the other's. */
static int move_vdso(void *unused)
{
	struct timespec moment = { .tv_nsec = 300000 };
	const int keep = MREMAP_MAYMOVE | MREMAP_FIXED;

	(void)unused;
	for (;;) {
		syscall(SYS_mremap, vdso, vdso_size, vdso_size, keep, vdso_away);
		syscall(SYS_mremap, page_away, vdso_size, vdso_size, keep, vdso);
		syscall(SYS_nanosleep, &moment, NULL);
		syscall(SYS_mremap, vdso, vdso_size, vdso_size, keep, page_away);
		syscall(SYS_mremap, vdso_away, vdso_size, vdso_size, keep, vdso);
		syscall(SYS_nanosleep, &moment, NULL);
	}
	return 0;
}

static void hold_vdso(const char *point)
{
	static char stack[65536] __attribute__((aligned(16)));

	if (chdir(point) || chdir("dir"))
		fail(point);
	teach_flush();
	over_vdso = open("../file", O_RDONLY);
	find_vdso();
	if (chdir("/"))
		fail("/");
	puts("ready");
	fflush(stdout);
	if (clone(move_vdso, stack + sizeof(stack), CLONE_VM | CLONE_FILES | SIGCHLD, NULL) < 0)
		fail("clone");
	for (;;)
		pause();
}

static void do_nothing(int number)
{
	(void)number;
}

/* Where a file is read is under a lock of all who have it open, which a reader keeps for as long as the server likes. */
static int position(const char *point, pid_t target, unsigned int ms)
{
	struct cryo_checkpoint args = { .size = sizeof(args), .target = target, .timeout_ms = ms };
	int dev = open(CRYO_DEVICE_PATH, O_RDWR | O_CLOEXEC), handle, err;
	sigset_t wait_for;
	pid_t reader;
	char byte;
	int got;

	if (chdir(point) || chdir("dir"))
		fail(point);
	teach_flush();
	args.out_fd = open("../file", O_RDWR);
	handle = args.out_fd < 0 ? -1 : ioctl(dev, CRYO_IOC_CHECKPOINT, &args);
	if (handle < 0)
		fail("CRYO_IOC_CHECKPOINT");
	signal(SIGUSR1, do_nothing);
	sigemptyset(&wait_for);
	sigaddset(&wait_for, SIGUSR1);
	sigprocmask(SIG_BLOCK, &wait_for, NULL);
	puts("ready");
	fflush(stdout);
	sigwait(&wait_for, &got);
	reader = fork();
	if (!reader) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(read(args.out_fd, &byte, 1) != 1);
	}
	sleep(1);
	err = ioctl(handle, CRYO_CKPT_RUN) ? errno : 0;
	printf("ended %d\n", err);
	fflush(stdout);
	kill(reader, SIGKILL);
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return server(argv[1]);
	if (argc == 3 && !strcmp(argv[1], "hold"))
		hold(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "removed"))
		hold_removed(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "ring"))
		hold_ring(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "vdso"))
		hold_vdso(argv[2]);
	if (argc == 5 && !strcmp(argv[1], "position"))
		return position(argv[2], (pid_t)atoi(argv[3]), (unsigned int)atoi(argv[4]));
	if (argc == 4) {
		held_by = argv[3];
		backing = open(argv[2], O_RDONLY);
		if (backing < 0)
			fail(argv[2]);
		return server(argv[1]);
	}
	fprintf(stderr, "usage: fuse MOUNTPOINT [FILE HOLD] | hold MOUNTPOINT | removed MOUNTPOINT | ring MOUNTPOINT | vdso MOUNTPOINT | position MOUNTPOINT PID MS\n");
	return 2;
}
