// SPDX-License-Identifier: GPL-2.0-only
/* locks.c - file locks: POSIX, open file description, flock(2) */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/filelock.h"
#include "lib/buf.h"
#include "resources.h"
#include "save/files.h"
#include "save/process.h"

/*
 * Of one kind on one file: its lock is held while they are looked at. Whoever can read a file can
 * lock it; to get so many takes him days, as the kernel looks through all of them for each new one.
 */
#define MAX_LOCKS	(4U << 20)
#define RESTS		4096	/* descriptors at a time */

struct lock_walk {
	struct cryo_capture *c;
	struct cryo_proc *p;
	const void *files;		/* owner of the process's POSIX locks */
	struct cryo_lock *locks;
	unsigned int room;
	unsigned int n;
	unsigned int breaking;		/* leases that somebody waits for */
	/* locks of files that are opened again when a thread is there */
	unsigned int of_threads;
	bool too_many;
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
			/* Open file description locks are nobody's. */
			.owner = kind == CRYO_LOCK_OFD ? 0 : cryo_lock_pid(lock),
			.start = ranged ? full->fl_start : 0,
			.end = ranged ? full->fl_end : 0,
		};
	w->n++;
}

/* While somebody waits for its end, it is neither what it was nor what it will be. */
static void note_lease(struct lock_walk *w, cryo_lock_core *lock, struct cryo_object *o)
{
	if (cryo_lock_flags(lock) & (FL_UNLOCK_PENDING | FL_DOWNGRADE_PENDING))
		w->breaking++;
	note_lock(w, lock, CRYO_LOCK_LEASE, o->id);
}

/*
 * The open file that @lock was made by, if the process has it, by a descriptor or under way in a
 * message or mapped, and nobody has told its locks; or NULL.
 */
static struct cryo_object *new_maker(struct lock_walk *w, cryo_lock_core *lock)
{
	struct cryo_object *f = cryo_object_find(w->c, cryo_lock_file(lock));

	return f && f->locks_of == w->p && !f->locks_saved ? f : NULL;
}

/* One lock of the inode of @o. */
static void look_at_lock(struct lock_walk *w, cryo_lock_core *lock, u32 kind,
			 struct cryo_object *o)
{
	struct cryo_object *maker;

	/* It belongs to the process and the inode: any open file of it will do. */
	if (kind == CRYO_LOCK_POSIX && !(cryo_lock_flags(lock) & FL_OFDLCK)) {
		if (cryo_lock_owner(lock) == w->files)
			note_lock(w, lock, CRYO_LOCK_POSIX, o->id);
		return;
	}
	/* Locks of the open file are told once, whoever has it. */
	maker = new_maker(w, lock);
	if (!maker)
		return;
	w->of_threads += maker->of_thread;
	if (kind == CRYO_LOCK_LEASE)
		note_lease(w, lock, maker);
	else
		note_lock(w, lock, kind == CRYO_LOCK_POSIX ? CRYO_LOCK_OFD : kind, maker->id);
}

/* With flc_lock held. */
static void walk_list(struct lock_walk *w, struct list_head *list, u32 kind, struct cryo_object *o)
{
	cryo_lock_core *lock;
	unsigned int n = 0;

	cryo_for_each_lock(lock, list) {
		w->too_many |= n++ == MAX_LOCKS;
		if (w->too_many)
			return;
		look_at_lock(w, lock, kind, o);
	}
}

static void walk_inode(struct lock_walk *w, struct cryo_object *o)
{
	struct file_lock_context *ctx = cryo_lock_context(file_inode(o->file));

	if (!ctx)
		return;
	spin_lock(&ctx->flc_lock);
	walk_list(w, &ctx->flc_posix, CRYO_LOCK_POSIX, o);
	walk_list(w, &ctx->flc_flock, CRYO_LOCK_FLOCK, o);
	walk_list(w, &ctx->flc_lease, CRYO_LOCK_LEASE, o);
	spin_unlock(&ctx->flc_lock);
}

/* Open files that the process has by descriptors, and those that it has otherwise. */
static void set_looked_at(struct lock_walk *w, struct cryo_proc *by, bool saved)
{
	struct cryo_proc *p = w->p;
	struct cryo_object *o;
	unsigned int i;

	for (i = 0; i < p->nr_fds; i++) {
		o = cryo_object_find(w->c, p->fds[i].file);
		o->locks_of = by;
		o->inode->locks_of = NULL;
		o->locks_saved |= saved;
		if (i % RESTS == RESTS - 1)
			cond_resched();
	}
	hlist_for_each_entry(o, &p->without_fd, of_proc) {
		o->locks_of = by;
		o->inode->locks_of = NULL;
		o->locks_saved |= saved;
	}
}

static int walk_inode_once(struct lock_walk *w, struct cryo_object *o)
{
	if (o->inode->locks_of == w->p)
		return 0;
	o->inode->locks_of = w->p;
	walk_inode(w, o);
	cond_resched();
	return cryo_capture_interrupted(w->c);
}

/* All files that the process has are marked, and then each inode is looked at once. */
static int walk_table(struct lock_walk *w)
{
	struct cryo_proc *p = w->p;
	struct cryo_object *o;
	unsigned int i;
	int err = 0;

	w->n = 0;
	w->breaking = 0;
	w->of_threads = 0;
	set_looked_at(w, p, false);
	for (i = 0; !err && i < p->nr_fds; i++)
		err = walk_inode_once(w, cryo_object_find(w->c, p->fds[i].file));
	hlist_for_each_entry(o, &p->without_fd, of_proc) {
		if (err)
			break;
		err = walk_inode_once(w, o);
	}
	set_looked_at(w, NULL, !err && w->n <= w->room);
	return err;
}

static int walk_locks(struct lock_walk *w)
{
	int err;

	w->room = 16;
	for (;;) {
		w->locks = kvcalloc(w->room, sizeof(*w->locks), GFP_KERNEL_ACCOUNT);
		if (!w->locks)
			return -ENOMEM;
		err = walk_table(w);
		if (!err && w->n <= w->room)
			return 0;
		kvfree(w->locks);
		if (err)
			return err;
		w->room = w->n + 16;
	}
}

/*
 * From the number in the outermost namespace, under which the kernel notes it, to that of the
 * context.
 */
static s32 owner_in_context(struct cryo_capture *c, s32 number)
{
	struct cryo_proc *proc = NULL;
	struct task_struct *task;

	if (number <= 0)
		return 0;
	rcu_read_lock();
	task = pid_task(find_pid_ns(number, &init_pid_ns), PIDTYPE_TGID);
	if (task)
		proc = cryo_find_proc(c->req, task);
	rcu_read_unlock();
	return proc ? proc->pid : 0;
}

static int save_locks(struct cryo_capture *c, struct cryo_proc *p)
{
	struct lock_walk w = { .c = c, .p = p };
	struct cryo_array head = { .record_size = sizeof(struct cryo_lock) };
	struct cryo_buf buf = {};
	unsigned int i;
	int err;

	task_lock(p->task);
	w.files = p->task->files;	/* compared, never followed */
	task_unlock(p->task);
	/* They belong to the table, whoever has it: told once. */
	if (cryo_has_table_of_other(c, p))
		w.files = NULL;
	err = walk_locks(&w);
	if (err)
		return err;
	if (w.too_many)
		cryo_refuse(c, p, "a file with more than %u locks is not supported", MAX_LOCKS);
	if (w.breaking)
		cryo_refuse(c, p, "file leases that are being broken (%u of them) are not supported",
			    w.breaking);
	if (w.of_threads)
		cryo_refuse(c, p, "locks of files of /proc about threads other than the first (%u of them) are not supported",
			    w.of_threads);
	if (w.n) {
		for (i = 0; i < w.n; i++)
			w.locks[i].owner = owner_in_context(c, w.locks[i].owner);
		head.count = w.n;
		cryo_buf_put(&buf, &head, sizeof(head));
		cryo_buf_put(&buf, w.locks, w.n * sizeof(*w.locks));
		err = cryo_stream_buf(&c->stream, CRYO_SEC_LOCKS, p->pid, sizeof(head), &buf);
	}
	kvfree(w.locks);
	return err;
}

const struct cryo_resource cryo_resource_locks = {
	.save = save_locks,
};
