// SPDX-License-Identifier: GPL-2.0-only
/* fds.c - the descriptor table */
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/fs.h"
#include "lib/buf.h"
#include "resources.h"
#include "restart/calls.h"
#include "save/files.h"
#include "save/ipc.h"
#include "save/process.h"

struct table_walk {
	struct cryo_fd_record *records;
	struct files_struct *files;
	unsigned int room;
	unsigned int n;
};

/* With files->file_lock held. Counts on when there is no room, so that the caller can make it. */
static int note_fd(const void *arg, struct file *file, unsigned int fd)
{
	struct table_walk *w = (struct table_walk *)arg;

	lockdep_assert_held(&w->files->file_lock);
	if (w->n < w->room) {
		w->records[w->n].fd = fd;
		w->records[w->n].file = get_file(file);
		w->records[w->n].cloexec = cryo_close_on_exec(fd, w->files);
	}
	w->n++;
	return 0;
}

static void drop_walk(struct table_walk *w)
{
	unsigned int i;

	for (i = 0; i < min(w->n, w->room); i++)
		fput(w->records[i].file);
	kvfree(w->records);
}

/* A snapshot of the table in p->fds, one reference to each file. */
static int copy_tables(struct cryo_proc *p)
{
	struct table_walk w = { .room = 64 };

	for (;;) {
		w.records = kvcalloc(w.room, sizeof(*w.records), GFP_KERNEL_ACCOUNT);
		if (!w.records)
			return -ENOMEM;
		w.n = 0;
		/* task_lock() keeps the table from being freed by a killed task. */
		task_lock(p->task);
		w.files = p->task->files;
		if (w.files)
			iterate_fd(w.files, 0, note_fd, &w);
		task_unlock(p->task);
		if (w.n <= w.room)
			break;
		drop_walk(&w);
		w.room = w.n + 64;
	}
	p->fds = w.records;
	p->nr_fds = w.n;
	return 0;
}

/* @held: references to the file that there are for the descriptor, with that of @r. */
static int collect_fd(struct cryo_capture *c, struct cryo_proc *p, const struct cryo_fd_record *r,
		      unsigned int held)
{
	struct cryo_object *o;
	int is_shm;

	if (cryo_is_being_restarted(r->file)) {
		cryo_log(&c->req->log, "pid %d (%s): is being restarted", p->pid, p->comm);
		return -EBUSY;
	}
	if (cryo_is_command(r->file, p->tgid)) {
		cryo_log(&c->req->log, "pid %d (%s): is performing a checkpoint itself",
			 p->pid, p->comm);
		return -EBUSY;
	}
	o = cryo_object_file(c, p, r->file);
	if (!o)
		return -ENOMEM;
	/* Of the process that was first to show it, be it by a descriptor or by a mapping. */
	if (o->fd < 0 && o->proc == p) {
		o->fd = r->fd;
		o->stdio_fd = r->fd <= 2 ? r->fd : U32_MAX;
	}
	o->cloexec |= r->cloexec;
	o->refs += held;
	is_shm = cryo_is_shm_descriptor(r->file);
	if (is_shm > 0)
		o->inode->inode_flags |= CRYO_INODE_CONTENTS | CRYO_INODE_POSIX_SHM;
	return min(is_shm, 0);
}

static int collect_fds(struct cryo_capture *c, struct cryo_proc *p)
{
	/* A table in common has one reference for all who have it. */
	unsigned int i, held = cryo_has_table_of_other(c, p) ? 1 : 2;
	int err = copy_tables(p);

	for (i = 0; !err && i < p->nr_fds; i++)
		err = cryo_capture_interrupted(c) ?: collect_fd(c, p, &p->fds[i], held);
	return err;
}

static int save_fds(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_array head = { p->nr_fds, sizeof(struct cryo_fd) };
	struct cryo_buf buf = {};
	unsigned int i;

	cryo_buf_put(&buf, &head, sizeof(head));
	for (i = 0; i < p->nr_fds; i++) {
		struct cryo_fd out = {
			.fd = p->fds[i].fd,
			.file = cryo_object_find(c, p->fds[i].file)->id,
			.flags = p->fds[i].cloexec ? CRYO_FD_CLOEXEC : 0,
		};

		cryo_buf_put(&buf, &out, sizeof(out));
	}
	return cryo_stream_buf(&c->stream, CRYO_SEC_FDS, p->pid, sizeof(head), &buf);
}

static void release_fds(struct cryo_proc *p)
{
	unsigned int i;

	for (i = 0; i < p->nr_fds; i++)
		fput(p->fds[i].file);
	kvfree(p->fds);
	p->fds = NULL;
	p->nr_fds = 0;
	INIT_HLIST_HEAD(&p->without_fd);
}

const struct cryo_resource cryo_resource_fds = {
	.collect = collect_fds,
	.save = save_fds,
	.release = release_fds,
};
