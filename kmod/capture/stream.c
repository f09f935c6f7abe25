// SPDX-License-Identifier: GPL-2.0-only
/*
 * stream.c - the context as a sequence of sections
 *
 * Metadata are kept in memory until all of them are known, so that a target
 * with obstacles is refused before a byte is written.  Page data go straight
 * from the pages to the file.
 */
#include <linux/crc32c.h>
#include <linux/file.h>
#include <linux/freezer.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uio.h>

#include <cryo/format.h>
#include <cryo/ioctl.h>

#include "capture/stream.h"
#include "compat/fs.h"
#include "cryo_arch.h"
#include "lib/buf.h"
#include "lib/point.h"
#include "lib/trace.h"
#include "memory/snapshot.h"
#include "request/request.h"

#define CHUNK_SIZE	(64 * 1024)
#define FREEZER_POLL_JIFFIES	max(HZ / 100, 1)

/* CRC32C of the format: inverted before and after, unlike the kernel's raw crc32c(). */
#define CRC_START	(~0U)

struct stream_chunk {
	struct list_head node;
	size_t len;
	u8 data[];
};

/* Less than this is written as soon with all else, when the writer waits for the disk. */
#define DIRECT_FROM	SZ_16M

/*
 * Where a file is read and written belongs to all who have it open, and is under a lock of theirs.
 * Not all the time that it takes to write a context, for which none of them could be killed.
 */
static int take_position(struct cryo_stream *s)
{
	bool shared = s->file->f_mode & FMODE_ATOMIC_POS;

	if (s->file->f_mode & FMODE_STREAM)
		return 0;
	/* Everybody is stopped: the time limit ends this, too. */
	if (shared && mutex_lock_interruptible(&s->file->f_pos_lock))
		return -EINTR;
	s->pos = s->file->f_pos;
	if (shared)
		mutex_unlock(&s->file->f_pos_lock);
	return 0;
}

static int leave_position(struct cryo_stream *s)
{
	bool shared = s->file->f_mode & FMODE_ATOMIC_POS;

	if (s->file->f_mode & FMODE_STREAM)
		return 0;
	if (shared && mutex_lock_killable(&s->file->f_pos_lock))
		return -EINTR;
	s->file->f_pos = s->pos;
	if (shared)
		mutex_unlock(&s->file->f_pos_lock);
	return 0;
}

int cryo_stream_init(struct cryo_stream *s, struct file *file, atomic64_t *written, u32 flags)
{
	memset(s, 0, sizeof(*s));
	INIT_LIST_HEAD(&s->chunks);
	s->file = file;
	s->written = written;
	s->flags = flags;
	s->direct_from = flags & CRYO_CKPT_DIRECT_ALWAYS ? 0 :
			 flags & CRYO_CKPT_DIRECT ? DIRECT_FROM : U64_MAX;
	return file ? take_position(s) : 0;
}

static void free_chunks(struct cryo_stream *s)
{
	struct stream_chunk *chunk, *next;

	list_for_each_entry_safe(chunk, next, &s->chunks, node) {
		list_del(&chunk->node);
		kvfree(chunk);
	}
}

static void end_direct(struct cryo_stream *s)
{
	if (s->direct)
		fput(s->direct);
	s->direct = NULL;
	s->direct_from = U64_MAX;
}

/* Where @iter is to be written. */
static struct file *choose_file(struct cryo_stream *s, const struct iov_iter *iter)
{
	if (s->offset < s->direct_from || !cryo_direct_takes(iter, s->pos))
		return s->file;
	/* Most contexts are small. */
	if (!s->direct)
		s->direct = cryo_direct_open(s->file, s->flags & CRYO_CKPT_DIRECT_ALWAYS);
	if (!s->direct)
		end_direct(s);
	return s->direct ?: s->file;
}

void cryo_stream_free(struct cryo_stream *s)
{
	free_chunks(s);
	end_direct(s);
	cryo_buf_free(&s->index);
}

static int append_bytes(struct cryo_stream *s, const void *data, size_t len)
{
	struct stream_chunk *chunk;
	size_t part;

	while (len) {
		chunk = list_empty(&s->chunks) ? NULL :
			list_last_entry(&s->chunks, struct stream_chunk, node);
		if (!chunk || chunk->len == CHUNK_SIZE) {
			chunk = kvmalloc(sizeof(*chunk) + CHUNK_SIZE, GFP_KERNEL_ACCOUNT);
			if (!chunk)
				return -ENOMEM;
			chunk->len = 0;
			list_add_tail(&chunk->node, &s->chunks);
		}
		part = min_t(size_t, len, CHUNK_SIZE - chunk->len);
		if (data)
			memcpy(chunk->data + chunk->len, data, part);
		else
			memset(chunk->data + chunk->len, 0, part);
		chunk->len += part;
		s->offset += part;
		data = data ? data + part : NULL;
		len -= part;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static int note_in_index(struct cryo_stream *s, u16 type, u32 object)
{
	struct cryo_index_entry entry = {
		.offset = s->offset, .type = type, .object = object,
	};

	s->sections++;
	cryo_buf_put(&s->index, &entry, sizeof(entry));
	return s->index.error;
}

static bool is_required(u16 type)
{
	static const u16 not_required[] = CRYO_SEC_NOT_REQUIRED;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(not_required); i++)
		if (type == not_required[i])
			return false;
	return true;
}

static void fill_header(struct cryo_section *h, u16 type, u32 object, u32 fixed_len, u64 len,
			u32 crc)
{
	*h = (struct cryo_section){
		.magic = CRYO_SECTION_MAGIC,
		.type = type,
		.flags = is_required(type) ? CRYO_SECF_REQUIRED : 0,
		.length = len,
		.fixed_len = fixed_len,
		.object = object,
		.crc = crc,
	};
}

static void seal_header(struct cryo_section *h)
{
	h->header_crc = ~crc32c(CRC_START, h, offsetof(struct cryo_section, header_crc));
}

int cryo_stream_header(struct cryo_stream *s)
{
	struct cryo_file_header h = {
		.header_len = sizeof(h),
		.format_major = CRYO_FORMAT_MAJOR,
		.format_minor = CRYO_FORMAT_MINOR,
		.arch = cryo_arch_id(),
		.page_size = PAGE_SIZE,
		.created_ns = ktime_get_real_ns(),
	};

	memcpy(h.magic, CRYO_MAGIC, CRYO_MAGIC_LEN);
	h.crc = ~crc32c(CRC_START, &h, offsetof(struct cryo_file_header, crc));
	return append_bytes(s, &h, sizeof(h));
}

/* Add a section whose payload is complete in memory. */
int cryo_stream_section(struct cryo_stream *s, u16 type, u32 object, u32 fixed_len,
			const void *payload, size_t len)
{
	struct cryo_section h;
	int err;

	s->meta += sizeof(h) + len;
	if (s->meta > CRYO_META_MAX) {
		s->full = true;
		return -E2BIG;
	}
	trace_cryo_section(type, object, len);
	err = note_in_index(s, type, object);
	if (err)
		return err;
	fill_header(&h, type, object, fixed_len, len, ~crc32c(CRC_START, payload, len));
	seal_header(&h);
	err = append_bytes(s, &h, sizeof(h));
	return err ?: append_bytes(s, payload, len);
}

/* Same from a buffer, which is emptied. */
int cryo_stream_buf(struct cryo_stream *s, u16 type, u32 object, u32 fixed_len,
		    struct cryo_buf *buf)
{
	int err = buf->error;

	if (!err)
		err = cryo_stream_section(s, type, object, fixed_len, buf->data, buf->len);
	cryo_buf_free(buf);
	return err;
}

/*
 * Not all file systems advance it: netfs (9P, v6.8 on) writes from a copy of its own when it writes
 * at once.
 */
static void advance_iter(struct iov_iter *iter, size_t before, size_t written)
{
	size_t moved = before - iov_iter_count(iter);

	if (moved < written)
		iov_iter_advance(iter, written - moved);
}

static bool is_interruption(ssize_t n)
{
	return n == -EINTR || n == -ERESTARTSYS || n == -ERESTARTNOINTR || n == -ERESTARTNOHAND;
}

/* Interrupted only to look after the snapshot? */
static bool looks_only(struct cryo_stream *s, struct iov_iter *iter, size_t before)
{
	if (!s->snapshot || !cryo_request_poked(s->snapshot->req))
		return false;
	iov_iter_revert(iter, before - iov_iter_count(iter));
	return true;
}

/*
 * Until the freezer lets us go. No lock of the file system's is held here, but the request's is,
 * which is why this is no try_to_freeze(): who sleeps with a lock has to say so.
 */
static void sleep_frozen(void)
{
	while (freezing(current) && !fatal_signal_pending(current)) {
		set_current_state(TASK_KILLABLE | TASK_FREEZABLE_UNSAFE);
		schedule_timeout(FREEZER_POLL_JIFFIES);
	}
}

static void recalculate_pending(void)
{
	/* It is never taken from a running thread. */
	struct sighand_struct *sighand = rcu_dereference_protected(current->sighand, true);

	spin_lock_irq(&sighand->siglock);
	recalc_sigpending();
	spin_unlock_irq(&sighand->siglock);
}

/*
 * Interrupted only by the freezer, before the machine sleeps? It wakes whoever waits as if by a
 * signal. Parked threads are frozen as they are.
 */
static bool slept_only(struct cryo_stream *s, struct iov_iter *iter, size_t before)
{
	/* An error that only looks like an interruption is one. */
	if (!signal_pending(current) && !freezing(current))
		return false;
	sleep_frozen();
	recalculate_pending();
	if (signal_pending(current) || (s->snapshot && cryo_request_interrupted(s->snapshot->req)))
		return false;
	iov_iter_revert(iter, before - iov_iter_count(iter));
	return true;
}

/*
 * Write all of @iter.  After a short write it goes on; after a signal not: what was
 * written cannot be taken back, so the caller gives the whole request up.
 */
static int write_all(struct cryo_stream *s, struct iov_iter *iter)
{
	ssize_t n;

	while (iov_iter_count(iter)) {
		struct file *file = choose_file(s, iter);
		size_t before = iov_iter_count(iter);
		int err = s->snapshot ? s->look(s->snapshot) : 0;

		if (err)
			return err;
		cryo_start_iter_write(file);
		cryo_point("write");
		n = vfs_iter_write(file, iter, &s->pos, 0);
		cryo_end_iter_write(file);
		if (n == 0)
			return -EIO;
		if (file == s->direct && cryo_direct_refused(n)) {
			end_direct(s);
			iov_iter_revert(iter, before - iov_iter_count(iter));
			continue;
		}
		if (is_interruption(n) && looks_only(s, iter, before))
			continue;
		if (is_interruption(n) && slept_only(s, iter, before))
			continue;
		if (is_interruption(n))
			return -EINTR;
		if (n < 0)
			return n;
		advance_iter(iter, before, n);
		atomic64_add(n, s->written);
	}
	return 0;
}

/* Write out what append_bytes() collected. */
int cryo_stream_flush(struct cryo_stream *s)
{
	struct stream_chunk *chunk;
	struct iov_iter iter;
	struct kvec vec;
	int err = 0;

	list_for_each_entry(chunk, &s->chunks, node) {
		vec.iov_base = chunk->data;
		vec.iov_len = chunk->len;
		iov_iter_kvec(&iter, ITER_SOURCE, &vec, 1, chunk->len);
		err = write_all(s, &iter);
		if (err)
			break;
	}
	free_chunks(s);
	s->meta = 0;
	return err;
}

/* As long as there is room for it. */
static int keep_in_memory(struct cryo_stream *s, struct iov_iter *iter)
{
	size_t len = iov_iter_count(iter), part;
	int err = 0;
	u8 *bytes;

	bytes = kvmalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT);
	if (!bytes)
		return -ENOMEM;
	for (; !err && len; len -= part) {
		part = min_t(size_t, len, PAGE_SIZE);
		if (copy_from_iter(bytes, part, iter) != part)
			err = -EFAULT;
		else
			err = append_bytes(s, bytes, part);
	}
	kvfree(bytes);
	return err;
}

/*
 * Add a PAGE_DATA section with the bytes of @iter, @checksum being the lower half of their XXH64
 * (several times as fast as CRC32C where that is no instruction), aligned to the page size in the
 * stream. The caller has added the PAGES section that describes them.
 */
int cryo_stream_page_data(struct cryo_stream *s, u32 object, struct iov_iter *iter,
			  u32 checksum)
{
	size_t len = iov_iter_count(iter);
	struct cryo_section h;
	int err;

	err = note_in_index(s, CRYO_SEC_PAGE_DATA, object);
	if (err)
		return err;
	fill_header(&h, CRYO_SEC_PAGE_DATA, object, 0, len, checksum);
	h.flags |= CRYO_SECF_XXH64;
	h.pad = -(s->offset + sizeof(h)) & (PAGE_SIZE - 1);
	seal_header(&h);
	err = append_bytes(s, &h, sizeof(h));
	if (!err)
		err = append_bytes(s, NULL, h.pad);
	s->page_bytes += len;
	if (err)
		return err;
	if (s->offset + len < s->keep)
		return keep_in_memory(s, iter);
	/* There may be no reader. */
	if (s->keep && s->flags & CRYO_CKPT_GOES_ON)
		return -EDEADLK;
	s->keep = 0;
	err = cryo_stream_flush(s) ?: write_all(s, iter);
	s->offset += len;
	return err;
}

static int add_index(struct cryo_stream *s)
{
	struct cryo_array head;
	struct cryo_buf payload = {};
	int err;

	/* The index lists itself, not the end. */
	err = note_in_index(s, CRYO_SEC_INDEX, 0);
	if (err)
		return err;
	s->sections--;
	head.count = s->index.len / sizeof(struct cryo_index_entry);
	head.record_size = sizeof(struct cryo_index_entry);
	cryo_buf_put(&payload, &head, sizeof(head));
	cryo_buf_put(&payload, s->index.data, s->index.len);
	return cryo_stream_buf(s, CRYO_SEC_INDEX, 0, sizeof(head), &payload);
}

int cryo_stream_end(struct cryo_stream *s)
{
	struct cryo_end end = { .index_offset = s->offset, .page_bytes = s->page_bytes };
	int err;

	err = add_index(s);
	if (err)
		return err;
	end.total_len = s->offset + sizeof(struct cryo_section) + sizeof(end);
	end.sections = s->sections + 1;
	err = cryo_stream_section(s, CRYO_SEC_END, 0, sizeof(end), &end, sizeof(end));
	if (!err)
		err = cryo_stream_flush(s);
	if (!err)
		err = leave_position(s);
	return err;
}
