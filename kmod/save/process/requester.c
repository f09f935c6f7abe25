// SPDX-License-Identifier: GPL-2.0-only
/*
 * requester.c - the place of who asks for the checkpoint, when that is a child of the job
 *
 * A job may have itself checkpointed by a command: system(), back-quotes, a script. It waits for
 * the command, which is no part of the context, and is not there after a restart. In its place
 * there is what the command was going to be: a process that has ended with status 0 and is to be
 * waited for, with the signal that tells of it, and its ends of pipes closed.
 */
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "access/access.h"
#include "capture/capture.h"
#include "lib/sighand.h"
#include "save/process/requester.h"

/* Its parent, if that is in the context, and is going to wait. With rcu_read_lock(). */
static struct cryo_proc *waiting_parent(struct cryo_request *req)
{
	struct task_struct *parent = rcu_dereference(current->group_leader->real_parent);
	struct cryo_proc *p = cryo_find_proc(req, parent);

	return p && !p->omitted && !p->gone && !p->zombie ? p : NULL;
}

/* Does the kernel itself forget children of @task that exit? */
static bool forgets_children(struct task_struct *task)
{
	struct sighand_struct *sighand;
	const struct sigaction *sa;
	bool forgets = false;

	if (current->group_leader->exit_signal != SIGCHLD)
		return false;
	sighand = cryo_lock_sighand(task);
	if (!sighand)
		return false;
	sa = &sighand->action[SIGCHLD - 1].sa;
	forgets = sa->sa_handler == SIG_IGN || sa->sa_flags & SA_NOCLDWAIT;
	cryo_unlock_sighand(sighand);
	return forgets;
}

static struct cryo_proc *stand_in_alloc(struct cryo_request *req)
{
	struct cryo_proc *p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);

	if (!p)
		return NULL;
	p->req = req;
	p->leader = get_task_struct(current->group_leader);
	p->tgid = get_task_pid(p->leader, PIDTYPE_TGID);
	p->pid = pid_vnr(p->tgid);
	get_task_comm(p->comm, p->leader);
	INIT_LIST_HEAD(&p->threads);
	p->task = p->leader;
	p->zombie = true;
	p->stand_in = true;
	return p;
}

/*
 * With everybody at rest. A process of the context that is not in the scope: nobody signals, tells
 * or waits for it.
 */
int cryo_requester_begin(struct cryo_capture *c)
{
	struct cryo_request *req = c->req;
	struct cryo_proc *parent;
	bool wanted;

	if (cryo_find_proc(req, current))
		return 0;
	rcu_read_lock();
	parent = waiting_parent(req);
	wanted = parent && !forgets_children(parent->leader);
	rcu_read_unlock();
	if (!wanted)
		return 0;
	c->stand_in = stand_in_alloc(req);
	if (!c->stand_in)
		return -ENOMEM;
	c->waits_for_requester = parent;
	list_add_tail(&c->stand_in->node, &req->procs);
	hash_add(req->index->by_group, &c->stand_in->hash, (unsigned long)current->signal);
	return 0;
}

void cryo_requester_end(struct cryo_capture *c)
{
	struct cryo_proc *p = c->stand_in;

	if (!p)
		return;
	list_del(&p->node);
	hash_del(&p->hash);
	put_task_struct(p->leader);
	put_pid(p->tgid);
	kfree(p);
	c->stand_in = NULL;
}

struct ends_walk {
	struct cryo_capture *c;
	struct xarray seen;	/* open files, by struct file */
	struct file *next;	/* counted; NULL: there is none */
};

/* With files->file_lock held. */
static int note_end(const void *arg, struct file *file, unsigned int fd)
{
	struct ends_walk *w = (struct ends_walk *)arg;

	if (!S_ISFIFO(file_inode(file)->i_mode) || xa_load(&w->seen, (unsigned long)file) ||
	    !cryo_object_find(w->c, file_inode(file)))
		return 0;
	w->next = get_file(file);
	return fd + 1;
}

/*
 * Its ends of pipes that the job has, too, do not lead outside: they are closed. After all
 * descriptors have been collected.
 */
int cryo_requester_pipes(struct cryo_capture *c)
{
	struct ends_walk w = { .c = c };
	struct cryo_object *inode;
	int fd = 0, err = 0;

	if (!c->stand_in)
		return 0;
	xa_init_flags(&w.seen, XA_FLAGS_ACCOUNT);
	do {
		w.next = NULL;
		fd = iterate_fd(current->files, fd, note_end, &w);
		if (!w.next)
			break;
		inode = cryo_object_find(c, file_inode(w.next));
		/* An end that the job has by the same open file counts already. */
		if (!cryo_object_find(c, w.next))
			inode->ends += !!(w.next->f_mode & FMODE_READ) +
				       !!(w.next->f_mode & FMODE_WRITE);
		err = xa_err(xa_store(&w.seen, (unsigned long)w.next, xa_mk_value(1),
				      GFP_KERNEL_ACCOUNT));
		fput(w.next);
		err = err ?: cryo_capture_interrupted(c);
	} while (!err);
	xa_destroy(&w.seen);
	return err;
}

/* Processes between the requester and the job: timeout(1), sh -c, sudo. */
#define MAX_BETWEEN	32
#define MAX_WRITERS	32	/* open files of theirs */
#define SHARES_BATCH	4096	/* descriptors looked at with the locks held */

struct shares_walk {
	struct cryo_capture *c;
	const struct files_struct *seen[MAX_BETWEEN + 1];
	unsigned int n;
	unsigned int end;	/* of this batch */
	bool more;		/* descriptors behind it */
	struct {
		struct file *file;	/* counted */
		unsigned long refs;	/* of descriptors that have been seen */
	} writers[MAX_WRITERS];
	unsigned int nr_writers;
};

/*
 * With files->file_lock. An open file that the job has not, for writing to what it has (a script's
 * "cr_checkpoint $$ 2>>log"). Where there are more, they count as others'.
 */
static void note_writer(struct shares_walk *w, struct file *file)
{
	unsigned int i;

	if (!(file->f_mode & FMODE_WRITER) || !cryo_object_find(w->c, file_inode(file)))
		return;
	for (i = 0; i < w->nr_writers && w->writers[i].file != file; i++)
		;
	if (i == MAX_WRITERS)
		return;
	if (i == w->nr_writers)
		w->writers[w->nr_writers++].file = get_file(file);
	w->writers[i].refs++;
}

#define LOOKS		3	/* whoever reads /proc/PID/fd has a reference for a moment */

/* And our own reference. */
static bool is_nobody_elses(struct shares_walk *w, unsigned int i)
{
	return (unsigned long)file_count(w->writers[i].file) <= w->writers[i].refs + 1;
}

/* Those that are open nowhere else are no others'. */
static void count_writers(struct shares_walk *w)
{
	unsigned int i, looks;

	for (looks = 1; looks < LOOKS; looks++) {
		for (i = 0; i < w->nr_writers && is_nobody_elses(w, i); i++)
			;
		if (i == w->nr_writers)
			break;
		usleep_range(50, 100);
	}
	for (i = 0; i < w->nr_writers; i++) {
		if (is_nobody_elses(w, i))
			cryo_object_find(w->c, file_inode(w->writers[i].file))->writers++;
		fput(w->writers[i].file);
	}
}

/* With files->file_lock held. */
static int note_share(const void *arg, struct file *file, unsigned int fd)
{
	struct shares_walk *w = (struct shares_walk *)arg;
	struct cryo_object *o;

	if (fd >= w->end) {
		w->more = true;
		return 1;
	}
	o = cryo_object_find(w->c, file);
	if (o)
		o->refs++;
	else
		note_writer(w, file);
	return 0;
}

/* The table of @task, where it has not been seen; false: it has. */
static bool is_new_table(struct shares_walk *w, const struct files_struct *files)
{
	unsigned int i;

	for (i = 0; i < w->n && w->seen[i] != files; i++)
		;
	if (!files || i < w->n)
		return false;
	w->seen[w->n++] = files;
	return true;
}

/* A table may be long, and is that of a process that runs: in batches. */
static void note_shares_of(struct shares_walk *w, struct task_struct *task)
{
	const struct files_struct *files = NULL;
	unsigned int start;

	w->end = 0;
	do {
		start = w->end;
		w->end += SHARES_BATCH;
		w->more = false;
		task_lock(task);
		if (start == 0 && is_new_table(w, task->files))
			files = task->files;
		if (files && files == task->files)
			iterate_fd(task->files, start, note_share, w);
		task_unlock(task);
		cond_resched();
	} while (w->more && !cryo_request_interrupted(w->c->req));
}

/*
 * Its ancestors up to the job, counted. 0: it is the job's child; negative: it does not come from
 * it.
 */
static int find_between(struct cryo_request *req, struct task_struct **between)
{
	struct task_struct *task = current->group_leader;
	struct cryo_proc *p = NULL;
	int i, n = 0;

	rcu_read_lock();
	for (;;) {
		task = rcu_dereference(task->real_parent);
		p = cryo_find_proc(req, task);
		if (p && p->omitted)
			p = NULL;
		if (p || n == MAX_BETWEEN || is_global_init(task))
			break;
		between[n++] = get_task_struct(task);
	}
	rcu_read_unlock();
	if (p)
		return n;
	for (i = 0; i < n; i++)
		put_task_struct(between[i]);
	return -ESRCH;
}

/*
 * A job that has itself checkpointed by a command has its files in common with that, and with those
 * who have started it. They end: no output of theirs is to come. Who is no descendant and no
 * command writes on. After all references of the scope have been counted.
 */
void cryo_requester_shares(struct cryo_capture *c)
{
	struct cryo_proc *p = cryo_find_proc(c->req, current);
	struct task_struct *between[MAX_BETWEEN];
	struct shares_walk w = { .c = c };
	int i, n;

	/* Its own table has been counted. */
	if (p && p != c->stand_in && !p->omitted)
		return;
	n = find_between(c->req, between);
	if (n >= 0 || c->req->args.flags & CRYO_CKPT_COMMAND)
		note_shares_of(&w, current);
	for (i = 0; i < n; i++) {
		/* Of others (sudo) it is not said what they have: they count as outside. */
		if (cryo_may_trace_now(between[i]))
			note_shares_of(&w, between[i]);
		put_task_struct(between[i]);
	}
	count_writers(&w);
}

/* What tells @p of the end of the requester: its number, 0: nothing does. */
int cryo_requester_signal(struct cryo_capture *c, struct cryo_proc *p, kernel_siginfo_t *info)
{
	int signal = current->group_leader->exit_signal;
	const struct cred *cred;

	if (!c->stand_in || p != c->waits_for_requester || signal <= 0)
		return 0;
	clear_siginfo(info);
	info->si_signo = signal;
	info->si_code = CLD_EXITED;
	info->si_pid = pid_nr_ns(c->stand_in->tgid, task_active_pid_ns(p->task));
	cred = get_task_cred(p->task);
	info->si_uid = from_kuid_munged(cred->user_ns, current_uid());
	put_cred(cred);
	return signal;
}
