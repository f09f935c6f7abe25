/* SPDX-License-Identifier: GPL-2.0-only */
/* stream.h - the context as it is written */
#ifndef CRYO_CAPTURE_STREAM_H
#define CRYO_CAPTURE_STREAM_H

#include <linux/list.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/uio.h>

#include <cryo/format.h>

#include "lib/buf.h"

struct cryo_snapshot;
struct file;
struct iov_iter;

/*
 * Pages in a section that we write: CRYO_PAGES_MAX, or fewer where they are larger. A restart that
 * maps compares the checksum of all of them before it gives the first.
 */
#define CRYO_BATCH_PAGES	(SZ_2M >> PAGE_SHIFT)

struct cryo_stream {
	struct file *file;
	loff_t pos;			/* position in @file */
	u64 offset;			/* bytes since the start of the context */
	struct list_head chunks;	/* metadata not written yet */
	u64 meta;			/* bytes of them; pages kept in memory do not count */
	bool full;			/* there would have been more than CRYO_META_MAX */
	struct cryo_buf index;
	u64 sections;
	u64 page_bytes;
	atomic64_t *written;		/* progress, read by others */
	/* bytes: up to here page data stay in memory, too; 0: none */
	u64 keep;
	struct cryo_snapshot *snapshot;	/* NULL: none is being written */
	/* with @snapshot, before each write: may it go on? */
	int (*look)(struct cryo_snapshot *s);
	u32 flags;			/* CRYO_CKPT_* */
	struct file *direct;		/* @file once more, past the page cache; NULL: not opened */
	u64 direct_from;		/* offset from which pages are to go there */
};

/* stream.c: the context as a sequence of sections */

/**
 * cryo_stream_init() - begin a context
 * @s: the stream
 * @file: where it is written to; NULL: nowhere
 * @written: called with the number of bytes written
 * @flags: CRYO_CKPT_*
 *
 * Return: 0, or a negative errno; cryo_stream_free() in each case.
 */
int cryo_stream_init(struct cryo_stream *s, struct file *file, atomic64_t *written, u32 flags);

/**
 * cryo_stream_free() - free what a stream has in memory
 * @s: the stream
 */
void cryo_stream_free(struct cryo_stream *s);

/**
 * cryo_stream_header() - describe: add the header of the file
 * @s: the stream
 *
 * Before all sections.
 *
 * Return: 0 or -ENOMEM.
 */
int cryo_stream_header(struct cryo_stream *s);

/**
 * cryo_stream_section() - describe: add a section of fixed size
 * @s: the stream
 * @type: CRYO_SEC_*
 * @object: number that it is about
 * @fixed_len: of its structure, for readers that know a smaller one
 * @payload: copied
 * @len: of @payload
 *
 * In memory, until cryo_stream_flush().
 *
 * Return: 0, -ENOMEM or -E2BIG.
 */
int cryo_stream_section(struct cryo_stream *s, u16 type, u32 object, u32 fixed_len,
			const void *payload, size_t len);

/**
 * cryo_stream_buf() - describe: add a section from a buffer
 * @s: the stream
 * @type: CRYO_SEC_*
 * @object: number that it is about
 * @fixed_len: of the structure at its beginning
 * @buf: its payload; emptied, also on an error
 *
 * Return: 0, or a negative errno, the one that the buffer has first of all.
 */
int cryo_stream_buf(struct cryo_stream *s, u16 type, u32 object, u32 fixed_len,
		    struct cryo_buf *buf);

/**
 * cryo_stream_flush() - write what has been described
 * @s: the stream
 *
 * Waits for the disk or a reader; ends with the request.
 *
 * Return: 0 or a negative errno.
 */
int cryo_stream_flush(struct cryo_stream *s);

/**
 * cryo_stream_page_data() - write a section of pages
 * @s: the stream
 * @object: number of the address space or file
 * @iter: the pages
 * @checksum: of them
 *
 * Not kept in memory.
 *
 * Return: 0 or a negative errno.
 */
int cryo_stream_page_data(struct cryo_stream *s, u32 object, struct iov_iter *iter,
			  u32 checksum);

/**
 * cryo_stream_end() - add INDEX and END, and write everything
 * @s: the stream
 *
 * The position of the descriptor is behind it then.
 *
 * Return: 0 or a negative errno.
 */
int cryo_stream_end(struct cryo_stream *s);

/* direct.c: pages of memory past the page cache */

struct file *cryo_direct_open(struct file *file, bool always);
bool cryo_direct_takes(const struct iov_iter *iter, loff_t pos);
bool cryo_direct_refused(ssize_t n);

#endif /* CRYO_CAPTURE_STREAM_H */
