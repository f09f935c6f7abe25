// SPDX-License-Identifier: GPL-2.0-only
/*
 * outside.c - does anybody else have what the job writes to?
 *
 * A restart does not cut off what has come to such a file, be it a job's of which there is another
 * context, and goes on at its end. Nobody's tables are searched: whoever has an open file has a
 * reference to it, and those of the job have all been counted, so that none is missed. The context
 * says that there is somebody, not who, nor how many.
 */
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/stat.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "save/files.h"

/* Of the whole capture: each waits for a tenth of a millisecond at most. */
#define POSITION_TRIES	20

/* As tools/restart/files/output_files.cc has it: a mapping alone is no output. */
static bool writes_regular(const struct cryo_object *o)
{
	return o->kind == CRYO_FILE_PATH && S_ISREG(file_inode(o->file)->i_mode) &&
	       o->file->f_mode & FMODE_WRITE && (o->fd >= 0 || o->carrier >= 0);
}

/**
 * cryo_outside_now() - who is not in the scope has @o, too
 * @o: an open file; all references of the scope have been counted
 *
 * References that last for a moment, as of somebody who looks at /proc/PID/fd, count as well: it is
 * asked twice.
 *
 * Return: CRYO_OUTSIDE_*; 0 of all but output.
 */
u32 cryo_outside_now(struct cryo_object *o)
{
	u32 outside = 0;

	if (!writes_regular(o))
		return 0;
	if ((unsigned long)file_count(o->file) > o->refs)
		outside |= CRYO_OUTSIDE_SHARED;
	if (atomic_read(&file_inode(o->file)->i_writecount) > (int)o->inode->writers)
		outside |= CRYO_OUTSIDE_WRITER;
	return outside;
}

void cryo_find_outside(struct cryo_capture *c)
{
	struct cryo_object *o;

	c->position_tries = POSITION_TRIES;
	list_for_each_entry(o, &c->files, node) {
		o->outside = cryo_outside_now(o);
		cond_resched();
	}
}

/* With the offset and the size of one write(2) of theirs. */
static bool is_at_end(struct cryo_capture *c, struct cryo_object *o)
{
	struct file *file = o->file;
	bool at_end;

	if (!(file->f_mode & FMODE_ATOMIC_POS))
		return file->f_pos >= i_size_read(file_inode(file));
	while (!mutex_trylock(&file->f_pos_lock)) {
		/*
		 * Who writes all the time, or to a server that does not answer, is at the end as a
		 * rule.
		 */
		if (!c->position_tries)
			return !(file->f_mode & FMODE_READ);
		c->position_tries--;
		usleep_range(50, 100);
	}
	at_end = file->f_pos >= i_size_read(file_inode(file));
	mutex_unlock(&file->f_pos_lock);
	return at_end;
}

/**
 * cryo_saved_position() - the offset that the context says
 * @c: the capture
 * @o: an open file
 *
 * Others who have it write on: at the end it is the size that the section of the inode says,
 * whatever has come between the two.
 *
 * Return: in bytes.
 */
loff_t cryo_saved_position(struct cryo_capture *c, struct cryo_object *o)
{
	loff_t pos = READ_ONCE(o->file->f_pos);

	if (!(o->outside & CRYO_OUTSIDE_SHARED) || o->file->f_flags & O_APPEND)
		return pos;
	return is_at_end(c, o) ? o->inode->size : pos;
}
