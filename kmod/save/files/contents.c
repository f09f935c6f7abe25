// SPDX-License-Identifier: GPL-2.0-only
/*
 * contents.c - the bytes of files that exist nowhere else: memfd, shared
 * anonymous memory, deleted files, temporary file systems; and of others when asked for
 *
 * They are copied before they are written: unlike a parked process's own memory,
 * somebody else may change them between the checksum and the write.
 */
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uio.h>
#include <linux/xxhash.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/hugetlb.h"
#include "lib/buf.h"
#include "lib/zero_page.h"
#include "paths/mounts.h"
#include "request/events.h"
#include "save/files.h"
#include "save/memory.h"
#include "save/memory/hugetlb.h"

struct contents_copy {
	struct cryo_capture *c;
	u32 kind;			/* CRYO_PAGES_* */
	u32 inode;
	unsigned int nr_pages;
	unsigned int nr_runs;
	struct cryo_page_run runs[CRYO_BATCH_PAGES];
	u8 *bytes;			/* CRYO_BATCH_PAGES pages */
};

static int flush_copy(struct contents_copy *k)
{
	struct cryo_pages head = {
		.kind = k->kind,
		.nr_runs = k->nr_runs,
		.record_size = sizeof(struct cryo_page_run),
		.nr_pages = k->nr_pages,
	};
	struct kvec vec = { k->bytes, k->nr_pages * PAGE_SIZE };
	struct cryo_stream *s = &k->c->stream;
	struct cryo_buf buf = {};
	struct iov_iter iter;
	int err;

	if (!k->nr_pages)
		return 0;
	cryo_buf_put(&buf, &head, sizeof(head));
	cryo_buf_put(&buf, k->runs, k->nr_runs * sizeof(k->runs[0]));
	err = cryo_stream_buf(s, CRYO_SEC_PAGES, k->inode, sizeof(head), &buf);
	if (err)
		return err;
	iov_iter_kvec(&iter, ITER_SOURCE, &vec, 1, vec.iov_len);
	err = cryo_stream_page_data(s, k->inode, &iter, xxh64(vec.iov_base, vec.iov_len, 0));
	k->c->req->pages_saved += k->nr_pages;
	k->nr_pages = 0;
	k->nr_runs = 0;
	cryo_event_progress(k->c->req);
	return err ?: cryo_request_interrupted(k->c->req);
}

/* The page at the end of the buffer belongs to byte @pos: keep it, unless it is all zero. */
static void keep_page(struct contents_copy *k, loff_t pos)
{
	struct cryo_page_run *run = k->nr_runs ? &k->runs[k->nr_runs - 1] : NULL;

	if (cryo_page_is_zero(k->bytes + k->nr_pages * PAGE_SIZE)) {
		k->c->req->pages_zero++;
		return;
	}
	k->nr_pages++;
	if (run && run->start + run->nr_pages * PAGE_SIZE == pos)
		run->nr_pages++;
	else
		k->runs[k->nr_runs++] = (struct cryo_page_run){ .start = pos, .nr_pages = 1 };
}

/*
 * What lies behind the end of @file, in its last page, which begins at @pos: from @at on into @to.
 * In memory it stays as long as the file, and who has mapped that may use it; of other files it is
 * zero once the page has been written.
 */
static int read_behind_end(struct file *file, loff_t pos, loff_t at, u8 *to)
{
	struct page *page;
	char *from;

	if (at == pos || !shmem_mapping(file->f_mapping)) {
		memset(to, 0, pos + PAGE_SIZE - at);
		return 0;
	}
	page = shmem_read_mapping_page(file->f_mapping, pos >> PAGE_SHIFT);
	if (page == ERR_PTR(-EINVAL)) {
		/* Somebody outside has just made the file shorter. */
		memset(to, 0, pos + PAGE_SIZE - at);
		return 0;
	}
	if (IS_ERR(page))
		return PTR_ERR(page);
	from = kmap_local_page(page);
	memcpy(to, from + (at - pos), pos + PAGE_SIZE - at);
	kunmap_local(from);
	put_page(page);
	return 0;
}

/* Read one page. */
static int read_page(struct contents_copy *k, struct file *file, loff_t pos)
{
	u8 *page = k->bytes + k->nr_pages * PAGE_SIZE;
	loff_t at = pos;
	ssize_t n;

	while (at < pos + PAGE_SIZE) {
		n = kernel_read(file, page + (at - pos), pos + PAGE_SIZE - at, &at);
		if (n < 0)
			return n;
		if (!n)
			break;
	}
	return at < pos + PAGE_SIZE ? read_behind_end(file, pos, at, page + (at - pos)) : 0;
}

static int copy_range(struct contents_copy *k, struct file *file, loff_t pos, loff_t end)
{
	int err = 0;

	for (; !err && pos < end; pos += PAGE_SIZE) {
		if (k->nr_pages == CRYO_BATCH_PAGES)
			err = flush_copy(k);
		if (!err)
			err = read_page(k, file, pos);
		if (!err)
			keep_page(k, pos);
		cond_resched();
		/* Not only when a batch is full: of zeros, there never is one. */
		err = err ?: cryo_request_interrupted(k->c->req);
	}
	return err;
}

/*
 * A file system that does not tell where holes are, but of which all that is no hole is in memory.
 */
static int copy_huge(struct contents_copy *k, struct file *file, loff_t size)
{
	loff_t huge = cryo_huge_page_size(file_inode(file)), pos = 0;
	int err = 0;

	while (!err) {
		pos = cryo_hugetlb_next(file_inode(file), pos);
		if (pos >= size)
			break;
		err = copy_range(k, file, pos, min(pos + huge, size));
		pos += huge;
	}
	return err ?: flush_copy(k);
}

/*
 * Without asking where holes are, which moves the offset of who has it open, and may be answered by
 * a server.
 */
static int copy_whole(struct contents_copy *k, struct file *file, loff_t size)
{
	if (cryo_is_hugetlb(file))
		return copy_huge(k, file, size);
	return copy_range(k, file, 0, size) ?: flush_copy(k);
}

/*
 * Copy what is not a hole. File systems that cannot tell say that all is data. A server in user
 * space may say what it likes, as late as it likes: the kernel waits for its answer, and for the
 * lock of the inode, and not even SIGKILL ends that.
 */
static int copy_file(struct contents_copy *k, struct file *file, loff_t size)
{
	struct super_block *sb = file_inode(file)->i_sb;
	loff_t at = 0, data, hole;
	int err = 0;

	/* One that lies upon others asks those, which may be anything. */
	if (cryo_is_hugetlb(file) || sb->s_magic == FUSE_SUPER_MAGIC || sb->s_stack_depth)
		return copy_whole(k, file, size);
	while (!err && at < size) {
		data = vfs_llseek(file, at, SEEK_DATA);
		if (data == -ENXIO)
			break;
		if (data < at)
			return data < 0 ? data : -EIO;
		hole = vfs_llseek(file, data, SEEK_HOLE);
		/* Somebody else has made the file shorter, or a hole where there was data. */
		if (hole == -ENXIO || (hole >= 0 && hole <= data))
			hole = data + 1;
		if (hole < 0)
			return hole;
		err = copy_range(k, file, round_down(data, PAGE_SIZE), min(hole, size));
		at = round_up(hole, PAGE_SIZE);
	}
	return err ?: flush_copy(k);
}

/*
 * A file of our own, so that nobody's offset moves; opened only by who may read. What the process
 * alone may read, as it was given it open, is read through what it has: who may trace it could have
 * it do so.
 */
static int copy_inode(struct contents_copy *k, struct cryo_object *o)
{
	struct file *file;
	int err;

	if (!(o->file->f_mode & FMODE_READ)) {
		err = file_permission(o->file, MAY_READ);
		if (err) {
			cryo_warn(k->c, o->proc, "inode %lu: you may not read its contents, which have to be saved",
				  (unsigned long)file_inode(o->file)->i_ino);
			return err;
		}
	}
	k->kind = CRYO_PAGES_INODE;
	k->inode = o->id;
	file = dentry_open(&o->file->f_path, O_RDONLY | O_LARGEFILE, current_cred());
	if (file == ERR_PTR(-EACCES) && o->file->f_mode & FMODE_READ)
		return copy_whole(k, o->file, o->size);
	if (IS_ERR(file))
		return PTR_ERR(file);
	/* Not its size now: others may have it open, and its INODE section is written. */
	err = copy_file(k, file, o->size) ?:
	      cryo_save_file_tags(k->c, file, o->size, k->kind, k->inode);
	fput(file);
	return err;
}

/* Of a temporary file system; that it may be read has been found out. */
static int copy_nodes(struct contents_copy *k, struct cryo_mounts *m)
{
	struct cryo_tmpfs_node *n;
	struct file *file;
	int err = 0;

	k->kind = CRYO_PAGES_TMPFS;
	list_for_each_entry(n, &m->nodes, list) {
		if (!S_ISREG(n->stat.mode) || n->link || !n->stat.size)
			continue;
		file = dentry_open(&n->path, O_RDONLY | O_LARGEFILE | O_NOATIME, current_cred());
		if (IS_ERR(file))
			return PTR_ERR(file);
		k->inode = n->id;
		err = copy_file(k, file, n->stat.size) ?:
		      cryo_save_file_tags(k->c, file, n->stat.size, k->kind, k->inode);
		fput(file);
		if (err)
			break;
	}
	return err;
}

int cryo_save_contents(struct cryo_capture *c)
{
	struct contents_copy *k = kvzalloc(sizeof(*k), GFP_KERNEL_ACCOUNT);
	struct cryo_mounts *m;
	struct cryo_object *o;
	int err = 0;

	if (!k)
		return -ENOMEM;
	k->c = c;
	k->bytes = kvmalloc(CRYO_BATCH_PAGES * PAGE_SIZE, GFP_KERNEL_ACCOUNT);
	if (!k->bytes)
		err = -ENOMEM;
	list_for_each_entry(o, &c->inodes, node) {
		if (err)
			break;
		if (o->inode_flags & CRYO_INODE_CONTENTS)
			err = copy_inode(k, o);
	}
	list_for_each_entry(m, &c->mount_spaces, list)
		if (!err)
			err = copy_nodes(k, m);
	kvfree(k->bytes);
	kvfree(k);
	return err;
}
