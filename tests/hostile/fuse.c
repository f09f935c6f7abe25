// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuse MOUNTPOINT FILE HOLD - a file system of one file
 *
 * Mounts on the directory MOUNTPOINT one that has a file `file`, with the contents of FILE, for reading.  As long as there is
 * a file HOLD, no read is answered; HOLD.asked says that there has been one.  Needs root, no library, and goes on until it
 * is killed, which ends all that wait for it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define DIE(what) do { fprintf(stderr, "fuse: %s: %s\n", what, strerror(errno)); exit(1); } while (0)

#define NODE_FILE	2
#define ROOM		(1 << 20)

static int device, backing;
static const char *hold;
static char room[ROOM], bytes[ROOM];

static void reply(uint64_t unique, int error, const void *data, size_t size)
{
	struct fuse_out_header head = { .len = sizeof(head) + size, .error = error, .unique = unique };
	struct iovec parts[2] = { { &head, sizeof(head) }, { (void *)data, size } };

	/* ENOENT: nobody waits for it any more. */
	if (writev(device, parts, size ? 2 : 1) < 0 && errno != ENOENT)
		DIE("answer");
}

static void fill_attr(struct fuse_attr *attr, uint64_t node)
{
	struct stat st;

	if (fstat(backing, &st))
		DIE("fstat");
	*attr = (struct fuse_attr){
		.ino = node,
		.mode = node == NODE_FILE ? S_IFREG | 0644 : S_IFDIR | 0755,
		.size = node == NODE_FILE ? st.st_size : 0,
		.blocks = st.st_blocks,
		.nlink = 1,
		.uid = st.st_uid,
		.gid = st.st_gid,
		.blksize = 4096,
		.mtime = st.st_mtime,
		.ctime = st.st_ctime,
	};
}

static void answer_lookup(const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out out = { .nodeid = NODE_FILE, .attr_valid = 1000, .entry_valid = 1000 };

	if (in->nodeid != FUSE_ROOT_ID || strcmp(name, "file")) {
		reply(in->unique, -ENOENT, NULL, 0);
		return;
	}
	fill_attr(&out.attr, NODE_FILE);
	reply(in->unique, 0, &out, sizeof(out));
}

static void answer_read(const struct fuse_in_header *in, const struct fuse_read_in *args)
{
	char asked[4096];
	ssize_t n;
	int fd;

	snprintf(asked, sizeof(asked), "%s.asked", hold);
	while (!access(hold, F_OK)) {
		fd = open(asked, O_WRONLY | O_CREAT, 0644);
		if (fd < 0)
			DIE(asked);
		close(fd);
		usleep(20000);
	}
	n = pread(backing, bytes, args->size < ROOM ? args->size : ROOM, args->offset);
	reply(in->unique, n < 0 ? -errno : 0, bytes, n < 0 ? 0 : n);
}

static void answer(const struct fuse_in_header *in, const void *args)
{
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = 31, .max_readahead = 131072, .max_write = 131072,
	};
	struct fuse_attr_out attr = { .attr_valid = 1000 };
	struct fuse_open_out opened = { .fh = 1 };

	switch (in->opcode) {
	case FUSE_INIT:
		reply(in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		answer_lookup(in, args);
		break;
	case FUSE_GETATTR:
		fill_attr(&attr.attr, in->nodeid);
		reply(in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		reply(in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		answer_read(in, args);
		break;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_DESTROY:
		reply(in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(in->unique, -ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	char options[128];
	ssize_t n;

	if (argc != 4)
		return 2;
	hold = argv[3];
	backing = open(argv[2], O_RDONLY);
	if (backing < 0)
		DIE(argv[2]);
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (device < 0)
		DIE("/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device);
	if (mount("fuse", argv[1], "fuse", MS_NOSUID | MS_NODEV, options))
		DIE("mount");
	for (;;) {
		n = read(device, room, sizeof(room));
		if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT))
			continue;
		if (n < 0)
			return errno != ENODEV;
		answer((void *)room, room + sizeof(struct fuse_in_header));
	}
}
