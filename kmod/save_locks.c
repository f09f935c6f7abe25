// SPDX-License-Identifier: GPL-2.0-only
/* save_locks.c - file locks: POSIX, open file description, flock(2) */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "compat/filelock.h"
#include "cryo.h"

struct lock_walk {
	struct cryo_capture *c;
	const void *files;		/* owner of the process's POSIX locks */
	struct cryo_lock *locks;
	unsigned int room;
	unsigned int n;
	unsigned int breaking;		/* leases that somebody waits for */
	bool new_file;			/* no process before has told the locks of the open file */
};

/* With flc_lock held: no allocation, so count on when there is no room. */
static void note_lock(struct lock_walk *w, cryo_lock_core *lock, u32 kind, u32 file)
{
	bool ranged = kind == CRYO_LOCK_POSIX || kind == CRYO_LOCK_OFD;
	struct file_lock *full = ranged ? cryo_lock_full(lock) : NULL;

	if (w->n < w->room)
		w->locks[w->n] = (struct cryo_lock){
			.file = file,
			.kind = kind,
			.type = cryo_lock_type(lock),
			.start = ranged ? full->fl_start : 0,
			.end = ranged ? full->fl_end : 0,
		};
	w->n++;
}

/* A POSIX lock belongs to the process and the inode: any open file of it will do. */
static void walk_posix(struct lock_walk *w, struct file_lock_context *ctx, struct cryo_object *o)
{
	cryo_lock_core *lock;
	struct cryo_object *f;

	cryo_for_each_lock(lock, &ctx->flc_posix) {
		f = cryo_object_find(w->c, cryo_lock_file(lock));
		if (cryo_lock_flags(lock) & FL_OFDLCK) {
			if (f == o && w->new_file)
				note_lock(w, lock, CRYO_LOCK_OFD, o->id);
		} else if (cryo_lock_owner(lock) == w->files && (!f || f == o)) {
			note_lock(w, lock, CRYO_LOCK_POSIX, o->id);
		}
	}
}

/* While somebody waits for its end, it is neither what it was nor what it will be. */
static void note_lease(struct lock_walk *w, cryo_lock_core *lock, struct cryo_object *o)
{
	if (cryo_lock_flags(lock) & (FL_UNLOCK_PENDING | FL_DOWNGRADE_PENDING))
		w->breaking++;
	note_lock(w, lock, CRYO_LOCK_LEASE, o->id);
}

static void walk_file(struct lock_walk *w, struct cryo_object *o)
{
	struct file_lock_context *ctx = cryo_lock_context(file_inode(o->file));
	cryo_lock_core *lock;

	if (!ctx)
		return;
	/* Locks of the open file are told once, whoever has it. */
	w->new_file = !o->locks_saved;
	spin_lock(&ctx->flc_lock);
	walk_posix(w, ctx, o);
	cryo_for_each_lock(lock, &ctx->flc_flock)
		if (cryo_lock_file(lock) == o->file && w->new_file)
			note_lock(w, lock, CRYO_LOCK_FLOCK, o->id);
	cryo_for_each_lock(lock, &ctx->flc_lease)
		if (cryo_lock_file(lock) == o->file && w->new_file)
			note_lease(w, lock, o);
	spin_unlock(&ctx->flc_lock);
}

/* All files in the process's table, each once. */
static void walk_table(struct lock_walk *w)
{
	struct cryo_proc *p = w->c->p;
	struct cryo_object *o;
	unsigned int i;

	w->n = 0;
	w->breaking = 0;
	for (i = 0; i < p->nr_fds; i++) {
		o = cryo_object_find(w->c, p->fds[i].file);
		if (o->locks_of == p)
			continue;
		o->locks_of = p;
		walk_file(w, o);
	}
	for (i = 0; i < p->nr_fds; i++)
		cryo_object_find(w->c, p->fds[i].file)->locks_of = NULL;
}

static int walk(struct lock_walk *w)
{
	struct cryo_proc *p = w->c->p;
	unsigned int i;

	w->room = 16;
	for (;;) {
		w->locks = kvcalloc(w->room, sizeof(*w->locks), GFP_KERNEL_ACCOUNT);
		if (!w->locks)
			return -ENOMEM;
		walk_table(w);
		if (w->n <= w->room)
			break;
		kvfree(w->locks);
		w->room = w->n + 16;
	}
	for (i = 0; i < p->nr_fds; i++)
		cryo_object_find(w->c, p->fds[i].file)->locks_saved = true;
	return 0;
}

int cryo_save_locks(struct cryo_capture *c)
{
	struct lock_walk w = { .c = c };
	struct cryo_array head = { .record_size = sizeof(struct cryo_lock) };
	struct cryo_buf buf = {};
	int err;

	task_lock(c->p->task);
	w.files = c->p->task->files;	/* compared, never followed */
	task_unlock(c->p->task);
	/* They belong to the table, whoever has it: told once. */
	if (cryo_has_table_of_other(c))
		w.files = NULL;
	err = walk(&w);
	if (err)
		return err;
	if (w.breaking)
		cryo_refuse(c, "file leases that are being broken (%u of them) are not supported",
			    w.breaking);
	if (w.n) {
		head.count = w.n;
		cryo_buf_put(&buf, &head, sizeof(head));
		cryo_buf_put(&buf, w.locks, w.n * sizeof(*w.locks));
		err = cryo_stream_buf(&c->stream, CRYO_SEC_LOCKS, c->p->pid, sizeof(head), &buf);
	}
	kvfree(w.locks);
	return err;
}
