// SPDX-License-Identifier: GPL-2.0-only
/*
 * cgroup.c - control groups of the unified hierarchy: of each process its path, and those that the
 * job has to itself
 *
 * A group that others are in, too, is not the job's to bring back: who has made it for them and the
 * job will have to do so again. What the job has to itself is found out by looking at all that run:
 * whoever is not of the job has the group that he is in, and all above that.
 */
#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/nsproxy.h>
#include <linux/path.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/xarray.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "lib/buf.h"
#include "lib/walk_tasks.h"
#include "resources.h"
#include "save/process.h"
#include "save/process/cgroups.h"

struct seen_group {
	struct cgroup *cgrp;		/* counted */
	bool shared;			/* somebody else is in it, or below it */
	/* threads that are in it, and whose process is in another one */
	struct cryo_buf tids;
};

struct group_walk {
	struct cryo_capture *c;
	/* by address: groups of the job, and those that they are in */
	struct xarray seen;
	unsigned int n, alone;		/* of them, and of these not shared */
	struct path root;		/* counted, of the hierarchy; see cgroup_files.c */
	int unmounted;			/* 0: @root has it; 1: not looked for yet; else an error */
	char *path;
	int deepest;			/* level of these */
};

/* NULL: it is being removed, or was when the task ended. */
static struct cgroup *get_cgroup(struct task_struct *task)
{
	struct cgroup *cgrp;

	rcu_read_lock();
	cgrp = rcu_dereference(task->cgroups)->dfl_cgrp;
	if (!css_tryget(&cgrp->self))
		cgrp = NULL;
	rcu_read_unlock();
	return cgrp;
}

/* As the requester sees it. 0: it has none that can be told; nothing is lost then. */
static int path_of(struct cgroup *cgrp, char *buf, size_t size)
{
	int len = cgroup_path_ns(cgrp, buf, size, current->nsproxy->cgroup_ns);	/* sleeps */

	return len > 0 && len < size ? len : 0;
}

static int save_cgroup(struct cryo_capture *c, struct cryo_proc *p)
{
	char *path = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	struct cgroup *cgrp;
	int len = 0, err = 0;

	if (!path)
		return -ENOMEM;
	cgrp = get_cgroup(p->task);
	if (cgrp) {
		len = path_of(cgrp, path, PATH_MAX);
		cgroup_put(cgrp);
	}
	if (len)
		err = cryo_stream_section(&c->stream, CRYO_SEC_CGROUP, p->pid, 0, path, len);
	kfree(path);
	return err;
}

/*
 * Of a group and all that it is in, the deepest one that is seen; NULL: none. With one, all are
 * that it is in, so that nobody makes this long by groups nested deep.
 */
static struct seen_group *deepest_seen(struct group_walk *w, struct cgroup *cgrp)
{
	int from = 0, end = min(cgrp->level, w->deepest) + 1, middle;
	struct seen_group *s, *deepest = NULL;

	while (from < end) {
		middle = from + (end - from) / 2;
		s = xa_load(&w->seen, (unsigned long)cgroup_ancestor(cgrp, middle));
		if (s) {
			deepest = s;
			from = middle + 1;
		} else {
			end = middle;
		}
	}
	return deepest;
}

static int note_group(struct group_walk *w, struct cgroup *cgrp)
{
	struct seen_group *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	int err;

	if (!s)
		return -ENOMEM;
	err = xa_err(xa_store(&w->seen, (unsigned long)cgrp, s, GFP_KERNEL_ACCOUNT));
	if (err) {
		kfree(s);
		return err;
	}
	cgroup_get(cgrp);
	s->cgrp = cgrp;
	w->deepest = max(w->deepest, cgrp->level);
	w->n++;
	w->alone++;
	return 0;
}

/* @cgrp and all that it is in, from above. */
static int note_groups(struct group_walk *w, struct cgroup *cgrp)
{
	const struct seen_group *s = deepest_seen(w, cgrp);
	int level = s ? s->cgrp->level + 1 : 0, err = 0;

	for (; !err && level <= cgrp->level && w->n < CRYO_MAX_CGROUPS; level++)
		err = note_group(w, cgroup_ancestor(cgrp, level));
	return err;
}

static int note_thread(struct group_walk *w, struct task_struct *task, struct cgroup *process)
{
	struct cgroup *cgrp = get_cgroup(task);
	u32 tid = task_pid_vnr(task);
	struct seen_group *s;
	int err;

	if (!cgrp)
		return 0;
	err = note_groups(w, cgrp);
	s = err || cgrp == process ? NULL : xa_load(&w->seen, (unsigned long)cgrp);
	if (s) {
		cryo_buf_put(&s->tids, &tid, sizeof(tid));
		err = s->tids.error;
	}
	cgroup_put(cgrp);
	return err;
}

static int note_process(struct group_walk *w, struct cryo_proc *p)
{
	struct cgroup *cgrp = get_cgroup(p->task);
	struct cryo_parked *t;
	int err = 0;

	for (t = cryo_next_thread(p, NULL); t && !err; t = cryo_next_thread(p, t)) {
		err = cryo_capture_interrupted(w->c) ?: note_thread(w, t->task, cgrp);
		cond_resched();
	}
	if (cgrp)
		cgroup_put(cgrp);
	return err;
}

static int note_job(struct group_walk *w)
{
	struct cryo_proc *p;
	int err = 0;

	cryo_for_each_proc(p, w->c->req) {
		if (!p->omitted && !p->gone && !p->zombie)
			err = note_process(w, p);
		if (err)
			break;
	}
	return err;
}

/* Nobody is wanted: it is enough to look. */
static bool look_at_task(void *arg, struct task_struct *task)
{
	struct group_walk *w = arg;
	const struct cryo_proc *p = cryo_find_proc(w->c->req, task);
	struct seen_group *s;

	if (READ_ONCE(task->exit_state) || (p && !p->omitted))
		return false;
	s = deepest_seen(w, rcu_dereference(task->cgroups)->dfl_cgrp);
	/* Above one that is shared, all are. */
	while (s && !s->shared) {
		s->shared = true;
		w->alone--;
		s = xa_load(&w->seen, (unsigned long)cgroup_parent(s->cgrp));
	}
	return false;
}

static int look_at_others(struct group_walk *w)
{
	int at = 1, err = 0;

	while (!err && at && w->alone) {
		cryo_walk_tasks(PIDTYPE_PID, look_at_task, w, NULL, &at);
		err = cryo_capture_interrupted(w->c);
		cond_resched();
	}
	return err;
}

static int by_level(const void *a, const void *b)
{
	const struct seen_group *const *x = a, *const *y = b;

	return (*x)->cgrp->level - (*y)->cgrp->level;
}

static int save_group_as(struct group_walk *w, const struct seen_group *s, u32 number, int len,
			 struct cryo_cgroup *head)
{
	struct cryo_buf buf = {};
	int err;

	head->path_len = len;
	head->threads = s->tids.len / sizeof(u32);
	cryo_buf_put(&buf, head, sizeof(*head));
	cryo_buf_put(&buf, w->path, len);
	if (head->threads)
		cryo_buf_put(&buf, s->tids.data, s->tids.len);
	err = cryo_stream_buf(&w->c->stream, CRYO_SEC_CGROUP_DIR, number, sizeof(*head), &buf);
	cryo_buf_free(&buf);
	return err;
}

/* What the requester may not look into is not to be made again, either. */
static int save_unread(struct group_walk *w, const struct seen_group *s, u32 number, int len,
		       struct cryo_cgroup *head, int err)
{
	return err == -ENOMEM || err == -EINTR ? err : save_group_as(w, s, number, len, head);
}

static int save_own_group(struct group_walk *w, const struct seen_group *s, u32 number, int len,
			  struct cryo_cgroup *head)
{
	struct cryo_cgroup_texts texts = {};
	struct file *dir;
	int err;

	if (w->unmounted > 0)
		w->unmounted = cryo_cgroup_mount(w->c, &w->root);
	dir = w->unmounted ? ERR_PTR(w->unmounted) :
			     cryo_cgroup_open(&w->root, s->cgrp, w->path);
	if (IS_ERR(dir))
		return save_unread(w, s, number, len, head, PTR_ERR(dir));
	cryo_cgroup_describe(dir, head);
	head->flags = CRYO_CGROUP_OWN;
	err = cryo_cgroup_look(w->c, dir, &texts);
	if (texts.more)
		head->flags |= CRYO_CGROUP_PARTIAL;
	err = err ?: save_group_as(w, s, number, len, head) ?:
	      cryo_cgroup_save(w->c, number, &texts);
	cryo_cgroup_texts_free(&texts);
	fput(dir);
	return err;
}

/* 1: it has got that number. */
static int save_group(struct group_walk *w, const struct seen_group *s, u32 number)
{
	struct cryo_cgroup head = {};
	int len, err;

	if (s->shared && !s->tids.len)
		return 0;
	len = path_of(s->cgrp, w->path, PATH_MAX);
	/* The root of the requester's hierarchy, or one that is not in that. */
	if (len < 2 || !strncmp(w->path, "/..", 3))
		return 0;
	err = s->shared ? save_group_as(w, s, number, len, &head) :
			  save_own_group(w, s, number, len, &head);
	return err ?: 1;
}

static int save_groups(struct group_walk *w)
{
	struct seen_group **all, *s;
	unsigned long at;
	unsigned int n = 0, i;
	u32 number = 1;
	int got = 0;

	all = kvmalloc_array(w->n, sizeof(*all), GFP_KERNEL_ACCOUNT);
	if (!all)
		return -ENOMEM;
	xa_for_each(&w->seen, at, s)
		all[n++] = s;
	sort(all, n, sizeof(*all), by_level, NULL);
	for (i = 0; i < n && got >= 0; i++) {
		got = cryo_capture_interrupted(w->c) ?: save_group(w, all[i], number);
		number += got > 0;
		cond_resched();
	}
	kvfree(all);
	return min(got, 0);
}

static void free_walk(struct group_walk *w)
{
	struct seen_group *s;
	unsigned long at;

	xa_for_each(&w->seen, at, s) {
		cgroup_put(s->cgrp);
		cryo_buf_free(&s->tids);
		kfree(s);
	}
	xa_destroy(&w->seen);
	if (!w->unmounted)
		path_put(&w->root);
	kfree(w->path);
}

int cryo_save_cgroups(struct cryo_capture *c)
{
	struct group_walk w = { .c = c, .unmounted = 1 };
	int err;

	xa_init_flags(&w.seen, XA_FLAGS_ACCOUNT);
	w.path = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	err = w.path ? note_job(&w) : -ENOMEM;
	/* All of them in the root of the hierarchy: there is none in use. */
	if (!err && w.n > 1)
		err = look_at_others(&w) ?: save_groups(&w);
	free_walk(&w);
	return err;
}

const struct cryo_resource cryo_resource_cgroup = {
	.save = save_cgroup,
};
