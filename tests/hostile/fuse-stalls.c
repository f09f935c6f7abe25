// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuse-stalls - a file system in user space that stops answering, without any library
 *
 *	fuse-stalls MOUNTPOINT		mounts it there, and serves it: "file" of 64 KiB, "dir", and no caching of names or
 *					attributes. Prints "ready". From SIGUSR1 on it takes requests and answers none; from
 *					SIGUSR2 on it does again, to all that come then. Ends, and with it what waits for it, when killed.
 *	fuse-stalls hold MOUNTPOINT	a process whose working directory, open file, mapping and watches are there; prints "ready"
 *
 * As root, or by who is that in a user and mount namespace of his own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NODE_FILE = 2, NODE_DIR = 3, FILE_SIZE = 65536 };

static volatile sig_atomic_t stalled;
static int device;

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
	static char out[sizeof(struct fuse_out_header) + FILE_SIZE];
	struct fuse_out_header head = { .len = sizeof(head) + size, .error = -error, .unique = unique };

	memcpy(out, &head, sizeof(head));
	if (size)
		memcpy(out + sizeof(head), data, size);
	/* ENOENT: who asked has been interrupted. */
	if (write(device, out, head.len) < 0 && errno != ENOENT)
		fail("write to /dev/fuse");
}

static struct fuse_attr attributes(uint64_t node)
{
	struct fuse_attr attr = { .ino = node, .nlink = 1, .uid = getuid(), .gid = getgid(), .blksize = 4096 };

	attr.mode = node == NODE_FILE ? S_IFREG | 0644 : S_IFDIR | 0755;
	attr.size = node == NODE_FILE ? FILE_SIZE : 0;
	return attr;
}

static void look_up(uint64_t unique, const char *name)
{
	struct fuse_entry_out out = {
		.nodeid = !strcmp(name, "file") ? NODE_FILE : !strcmp(name, "dir") ? NODE_DIR : 0,
		.generation = 1,
	};

	out.attr = attributes(out.nodeid);
	answer(unique, out.nodeid ? 0 : ENOENT, &out, out.nodeid ? sizeof(out) : 0);
}

static void serve(const struct fuse_in_header *in, const void *arg)
{
	static const char zeros[FILE_SIZE];
	const struct fuse_read_in *read_in = arg;
	struct fuse_attr_out attr = { .attr = attributes(in->nodeid) };
	struct fuse_open_out open_out = { .fh = 1 };
	struct fuse_statfs_out statfs_out = { .st.bsize = 4096, .st.namelen = 255 };
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = 4096,
		.max_readahead = 0, .max_background = 16, .congestion_threshold = 12,
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
		return answer(in->unique, 0, zeros, read_in->offset >= FILE_SIZE ? 0 : read_in->size);
	case FUSE_READDIR:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
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
	static char request[FUSE_MIN_READ_BUFFER + 65536] __attribute__((aligned(8)));
	const struct fuse_in_header *in = (const void *)request;
	char options[128];
	ssize_t n;

	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (device < 0)
		fail("/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other", device,
		 getuid(), getgid());
	if (mount("fuse-stalls", point, "fuse", 0, options))
		fail("mount");
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	puts("ready");
	fflush(stdout);
	for (;;) {
		n = read(device, request, sizeof(request));
		if (n < 0 && errno == ENODEV)
			return 0;
		if (n < 0 && errno != EINTR && errno != ENOENT)
			fail("read from /dev/fuse");
		if (n < (ssize_t)sizeof(*in))
			continue;
		if (stalled)
			fprintf(stderr, "request %u is not answered\n", in->opcode);
		else
			serve(in, in + 1);
	}
}

static void hold(const char *point)
{
	volatile char *map;
	int file, watches;

	if (chdir(point) || chdir("dir"))
		fail(point);
	/* The server knows no FUSE_FLUSH: the kernel finds out at the first close(), and then asks no more who is killed. */
	close(open("../file", O_RDONLY));
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

int main(int argc, char **argv)
{
	if (argc == 2)
		return server(argv[1]);
	if (argc == 3 && !strcmp(argv[1], "hold"))
		hold(argv[2]);
	fprintf(stderr, "usage: fuse-stalls [hold] MOUNTPOINT\n");
	return 2;
}
