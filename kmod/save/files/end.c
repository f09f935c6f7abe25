// SPDX-License-Identifier: GPL-2.0-only
/*
 * end.c - the last bytes of a file that is open for writing
 *
 * A restart cuts the file where it ended, or goes on behind it. A checksum of what was before tells
 * a file that has only grown since from one that has been written anew. The bytes are taken from
 * the page cache, as a file system that does not answer must not stop a checkpoint; what is being
 * written to is nearly always there. Of a file that other machines write to as well it may be out
 * of date: there is no checksum of such.
 */
#include <linux/crc32c.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "save/files.h"

/*
 * Continue *@crc with the bytes of @file from @pos to @end, which lie in one page; false: they are
 * not at hand.
 */
static bool add_cached_bytes(struct file *file, loff_t pos, loff_t end, u32 *crc)
{
	struct page *page = pagecache_get_page(file->f_mapping, pos >> PAGE_SHIFT, 0, 0);
	bool there;
	void *data;

	if (!page)
		return false;
	/* shmem and hugetlbfs keep one that memory failure has hit. */
	there = PageUptodate(page) && !PageHWPoison(page);
	if (there) {
		data = kmap_local_page(page);
		*crc = crc32c(*crc, data + offset_in_page(pos), end - pos);
		kunmap_local(data);
	}
	put_page(page);
	return there;
}

/*
 * What the process may read, who may trace it could have it read. Otherwise the requester has to
 * have the right, as the checksum of a few bytes tells them; nobody is waited for, who would have
 * to be asked.
 */
static bool may_read_end(struct file *file)
{
	int err;

	if (file->f_mode & FMODE_READ)
		return true;
	rcu_read_lock();
	err = file_permission(file, MAY_READ | MAY_NOT_BLOCK);
	rcu_read_unlock();
	return !err;
}

/*
 * False: there is none, or it cannot be had. Others may write to the file meanwhile: then it is not
 * the end that the inode says.
 */
static bool find_file_end(struct file *file, loff_t size, struct cryo_file_end *end)
{
	struct inode *inode = file->f_mapping->host;
	u32 crc = ~0U;
	loff_t pos, next;

	end->length = min_t(loff_t, size, CRYO_END_BYTES_MAX);
	for (pos = size - end->length; pos < size; pos = next) {
		next = min_t(loff_t, size, round_down(pos, PAGE_SIZE) + PAGE_SIZE);
		if (!add_cached_bytes(file, pos, next, &crc))
			return false;
	}
	end->crc = ~crc;
	return size && i_size_read(inode) == size;
}

/* Once for each inode, through the first of its files by which it may be read. */
int cryo_save_file_end(struct cryo_capture *c, struct cryo_object *o)
{
	struct cryo_object *inode = o->inode;
	struct cryo_file_end end = {};

	if (!(o->file->f_mode & FMODE_WRITE) || !S_ISREG(file_inode(o->file)->i_mode) ||
	    inode->end_saved || !cryo_is_at_hand(file_inode(o->file)->i_sb) ||
	    !may_read_end(o->file) ||
	    !find_file_end(o->file, inode->size, &end))
		return 0;
	inode->end_saved = true;
	return cryo_stream_section(&c->stream, CRYO_SEC_FILE_END, inode->id, sizeof(end), &end,
				   sizeof(end));
}
