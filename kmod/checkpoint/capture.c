// SPDX-License-Identifier: GPL-2.0-only
/*
 * capture.c - from parked threads to a written context
 *
 * First everything is collected and checked: all obstacles are found before a
 * byte is written.  Then it is described in sections, then memory is written.
 */
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <cryo/ioctl.h>

#include "access/access.h"
#include "access/switches.h"
#include "capture/capture.h"
#include "checkpoint/checkpoint.h"
#include "cryo_arch.h"
#include "freeze/freeze.h"
#include "lazy/lazy.h"
#include "lib/buf.h"
#include "lib/point.h"
#include "memory/memory.h"
#include "memory/page_writer.h"
#include "memory/shared_pages.h"
#include "memory/snapshot.h"
#include "memory/track.h"
#include "memory/used.h"
#include "paths/mounts.h"
#include "paths/paths.h"
#include "request/scope.h"
#include "resources.h"
#include "save/files.h"
#include "save/ipc.h"
#include "save/memory.h"
#include "save/memory/hugetlb.h"
#include "save/net.h"
#include "save/ns.h"
#include "save/process.h"
#include "save/process/requester.h"

/* The address space of @p; several processes may have one (CLONE_VM). */
static int take_mm(struct cryo_capture *c, struct cryo_proc *p)
{
	void *known;

	p->mm = get_task_mm(p->task);
	if (!p->mm)
		return -ESRCH;
	known = xa_load(&c->memories, (unsigned long)p->mm);
	p->mm_saved = known;
	p->mm_id = known ? xa_to_value(known) : ++c->next_id;
	return known ? 0 : xa_err(xa_store(&c->memories, (unsigned long)p->mm,
					   xa_mk_value(p->mm_id), GFP_KERNEL_ACCOUNT));
}

/* Still a process that can be saved, and still the caller's to look into? */
static int check_proc(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_parked *t;

	for (t = cryo_next_thread(p, NULL); t; t = cryo_next_thread(p, t)) {
		if (!cryo_may_trace(t->task)) {
			cryo_log(&c->req->log, "pid %d (%s): you may not trace thread %d of it",
				 p->pid, p->comm, task_pid_vnr(t->task));
			return -EPERM;
		}
		cond_resched();
		/* Not p->leader: exec() in another thread makes that the leader. */
		if (!p->task || thread_group_leader(t->task))
			p->task = t->task;
	}
	if (p->zombie)
		p->task = p->leader;
	if (!p->task)
		return -ESRCH;
	if (p->zombie)
		return 0;
	return take_mm(c, p);
}

static int log_continued(struct cryo_capture *c, struct cryo_proc *p)
{
	if (!c->said_gone)
		cryo_log(&c->req->log, "pid %d (%s): was continued (SIGCONT) during the checkpoint: try again",
			 p->pid, p->comm);
	c->said_gone = true;
	return -EAGAIN;
}

static int log_exited(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_request *req = c->req;
	bool continued;

	/* Pairs with note_lost(). */
	continued = p == smp_load_acquire(&req->lost) && req->lost_continued;
	if (continued)
		return log_continued(c, p);
	if (!c->said_gone)
		cryo_log(&req->log, "pid %d (%s): exited during the checkpoint", p->pid, p->comm);
	c->said_gone = true;
	return -ESRCH;
}

/*
 * Stopped by job control it counts as arrived, and does so no more: no signal that it has got since
 * may be missed.
 */
static bool has_moved(struct cryo_parked *p)
{
	switch (READ_ONCE(p->state)) {
	case CRYO_PARK_STOPPED:
		return !task_is_stopped(p->task);
	case CRYO_PARK_GONE:
		return READ_ONCE(p->changed);
	default:
		return false;
	}
}

/*
 * It does not know yet that it was killed, and has that among its pending signals. One that is
 * stopped by job control takes it from there first, and on its way out it writes to the memory that
 * is to be saved: words that others wait for, robust mutexes.
 */
static bool is_being_killed(const struct cryo_parked *p)
{
	return __fatal_signal_pending(p->task) || READ_ONCE(p->task->flags) & PF_EXITING ||
	       READ_ONCE(p->task->signal->flags) & SIGNAL_GROUP_EXIT;
}

/*
 * A thread that was killed, or continued, while the capture looked at it makes the whole worthless.
 */
static int check_alive(struct cryo_capture *c)
{
	struct cryo_parked *p;
	int err = cryo_request_interrupted(c->req);
	bool gone;

	if (err)
		return err;
	list_for_each_entry(p, &c->req->parked, node) {
		gone = READ_ONCE(p->state) == CRYO_PARK_GONE;
		if (c->req->looking && has_moved(p) && !is_being_killed(p))
			return log_continued(c, p->proc);
		if (gone ? p->counted : is_being_killed(p))
			return log_exited(c, p->proc);
		p->counted = !gone;
		cond_resched();
	}
	return 0;
}

/*
 * What it has not yet got from the context that it was restarted from. That may take long: who is
 * killed may go.
 */
static int complete_memory(struct cryo_capture *c, struct cryo_proc *p)
{
	int err;

	cryo_inspect_end(c->req);
	err = cryo_map_complete(c->req, p->mm);
	cryo_inspect_begin(c->req);
	if (err == -ESRCH)
		return check_alive(c) ?: err;
	if (err && !cryo_request_interrupted(c->req))
		cryo_log(&c->req->log,
			 "pid %d (%s): its memory cannot be read from the context that it was restarted from: %pe",
			 p->pid, p->comm, ERR_PTR(err));
	return err ?: check_alive(c);
}

static int collect_proc(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_parked *t;
	int err;

	if (p->zombie)
		return 0;
	err = cryo_collect_process(c, p);
	if (!err && !p->mm_saved)
		err = complete_memory(c, p) ?: cryo_collect_memory(c, p);
	if (err)
		return err;
	for (t = cryo_next_thread(p, NULL); t && !err; t = cryo_next_thread(p, t)) {
		cryo_arch_check(c, p, t->task);
		err = cryo_capture_interrupted(c);
	}
	return err;
}

static int describe_proc(struct cryo_capture *c, struct cryo_proc *p)
{
	if (p->zombie)
		return cryo_save_zombie(c, p) ?: cryo_save_zombie_namespaces(c, p);
	return cryo_save_resources(c, p);
}

/* Those that others left alone may have gone since. */
static int check_anybody(struct cryo_capture *c)
{
	struct cryo_proc *p;

	cryo_for_each_proc(p, c->req)
		if (!p->gone)
			return 0;
	cryo_log(&c->req->log, "pid %d (%s): all processes of its job have exited", c->req->pid,
		 c->req->comm);
	return -ESRCH;
}

/* Do @step for each process in turn. */
static int each_proc(struct cryo_capture *c,
		     int (*step)(struct cryo_capture *c, struct cryo_proc *p))
{
	struct cryo_proc *p;
	int err = 0;

	cryo_for_each_proc(p, c->req) {
		/* Who has been named is missed. */
		if (p->omitted || (p->gone && !cryo_proc_is_named(p)))
			continue;
		err = step(c, p);
		if (err == -ESRCH && !READ_ONCE(c->req->lost))
			log_exited(c, p);
		if (err)
			break;
		err = cryo_capture_interrupted(c);
		if (err)
			break;
		cond_resched();
	}
	return err;
}

static int describe_checkpoint(struct cryo_capture *c)
{
	return cryo_stream_header(&c->stream) ?:
	       cryo_save_system(c) ?:
	       cryo_arch_save_cpu(c) ?:
	       cryo_save_inodes(c) ?:
	       cryo_save_files(c) ?:
	       cryo_save_waiting_connections(c) ?:
	       cryo_save_shm(c) ?:
	       cryo_save_sems(c) ?:
	       cryo_save_msgs(c) ?:
	       each_proc(c, describe_proc) ?:
	       cryo_save_cgroups(c);
}

static int estimate_proc(struct cryo_capture *c, struct cryo_proc *p)
{
	if (p->mm && !p->mm_saved) {
		c->req->estimate += cryo_estimate_memory(p);
		cryo_shared_pages_expect(&c->shared, p->mm);
	}
	return 0;
}

static int save_huge_memory(struct cryo_capture *c, struct cryo_proc *p)
{
	return p->mm && !p->mm_saved ? cryo_save_huge_memory(c, p) : 0;
}

static int save_memory(struct cryo_capture *c, struct cryo_proc *p)
{
	return p->mm && !p->mm_saved ? cryo_save_memory(c, p) : 0;
}

/*
 * By one writer: while the last pages of a process are written, others look through those of the
 * next.
 */
static int save_memories(struct cryo_capture *c,
			 int (*save)(struct cryo_capture *c, struct cryo_proc *p))
{
	int err;

	c->writer = cryo_page_writer_create(c);
	if (!c->writer)
		return -ENOMEM;
	err = each_proc(c, save) ?: cryo_page_writer_finish(c->writer);
	cryo_page_writer_destroy(c->writer);
	c->writer = NULL;
	return err;
}

static void release_proc(struct cryo_proc *p)
{
	cryo_release_resources(p);
	cryo_buf_free(&p->left_out);
	cryo_buf_free(&p->unchanged);
	cryo_used_free(&p->used);
	if (p->mm)
		mmput(p->mm);
	p->mm = NULL;
	p->mm_saved = false;
}

/* Nothing of the processes is needed any more. */
static void release_procs(struct cryo_capture *c)
{
	struct cryo_proc *p;
	size_t i;

	if (c->released)
		return;
	c->released = true;
	cryo_for_each_proc(p, c->req)
		release_proc(p);
	cryo_objects_free(c);
	cryo_ipc_spaces_free(c);
	cryo_buf_free(&c->namespaces);
	cryo_buf_free(&c->ttys);
	for (i = 0; i < ARRAY_SIZE(c->sharers); i++)
		cryo_buf_free(&c->sharers[i]);
	xa_destroy(&c->memories);
	xa_destroy(&c->eventfds);
	cryo_mounts_free(c);
	cryo_proc_free(c);
}

static void capture_free(struct cryo_capture *c)
{
	release_procs(c);
	cryo_shared_pages_free(&c->shared);
	cryo_stream_free(&c->stream);
	kfree(c);
}

static int save_tags(struct cryo_capture *c, struct cryo_proc *p)
{
	return p->mm && !p->mm_saved ? cryo_save_tags(c, p) : 0;
}

static int save_contents(struct cryo_capture *c)
{
	return each_proc(c, save_tags) ?: cryo_save_contents(c);
}

/* All that comes before memory. */
static int write_described(struct cryo_capture *c)
{
	int err = cryo_stream_flush(&c->stream);

	cryo_point("header");
	return err;
}

static int write_stopped(struct cryo_capture *c)
{
	int err;

	cryo_request_state(c->req, CRYO_STATE_WRITING);
	err = write_described(c) ?:
	      save_memories(c, save_memory) ?:
	      (c->contents_saved ? 0 : save_contents(c)) ?:
	      check_alive(c);
	cryo_point("memory");
	return err ?: cryo_stream_end(&c->stream);
}

static int protect_proc(struct cryo_capture *c, struct cryo_proc *p)
{
	if (!p->mm || p->mm_saved)
		return 0;
	return cryo_protect_memory(c, p, c->snapshot);
}

static int save_unchanged(struct cryo_capture *c, struct cryo_proc *p)
{
	return p->mm && !p->mm_saved ? cryo_save_unchanged(c, p) : 0;
}

static int save_exclusions(struct cryo_capture *c, struct cryo_proc *p)
{
	return p->mm && !p->mm_saved ? cryo_save_exclusions(c, p) : 0;
}

static int save_used(struct cryo_capture *c, struct cryo_proc *p)
{
	return p->mm && !p->mm_saved ? cryo_save_used(c, p) : 0;
}

/*
 * There is no snapshot: all is found again while it is written, but for what has been used: that is
 * noted once.
 */
static int forget_protected(struct cryo_capture *c, struct cryo_proc *p)
{
	cryo_buf_free(&p->left_out);
	cryo_buf_free(&p->unchanged);
	p->parent_mm = 0;
	c->req->pages_unchanged = 0;
	return 0;
}

/*
 * All that may change once the processes go on: tags, contents of files and private pages of
 * hugetlbfs are copied, those beyond the limit written, and the other private memory is protected.
 */
static int take_snapshots(struct cryo_capture *c)
{
	int err = cryo_snapshot_init(c->snapshot, c);

	if (err)
		return err;
	if (c->snapshot->goes_on)
		c->stream.keep = c->stream.offset + c->snapshot->limit * PAGE_SIZE;
	err = save_contents(c);
	c->contents_saved = true;
	if (!err)
		err = each_proc(c, protect_proc) ?: each_proc(c, save_exclusions) ?:
		      each_proc(c, save_unchanged) ?: each_proc(c, save_used);
	if (!err) {
		err = save_memories(c, save_huge_memory);
		c->huge_saved = true;
	}
	c->stream.keep = 0;
	return err ?: check_alive(c);
}

static int write_behind(struct cryo_capture *c)
{
	struct cryo_snapshot *s = c->snapshot;
	int err;

	/*
	 * Nobody's descriptor, memory or mount is to stay because we have it. Before its last user
	 * goes on.
	 */
	release_procs(c);
	c->stream.look = cryo_snapshot_check_limit;
	c->stream.snapshot = s;
	cryo_snapshot_watch(s);
	cryo_request_resume(c->req);
	cryo_request_state(c->req, CRYO_STATE_WRITING);
	err = write_described(c) ?: cryo_write_snapshot(c, s);
	cryo_point("memory");
	err = err ?: cryo_stream_end(&c->stream);
	c->stream.snapshot = NULL;
	return err;
}

static bool wants_snapshot(struct cryo_request *req)
{
	return req->args.flags & CRYO_CKPT_SNAPSHOT &&
	       !(req->args.flags & (CRYO_CKPT_HOLD | CRYO_CKPT_SIGNAL)) &&
	       cryo_has(CRYO_FEATURE_SNAPSHOT);
}

/*
 * The account of what processes write to begins as the memory is protected, which has all of it at
 * once. Those that are ended or stay stopped after it need none.
 */
static bool wants_account(struct cryo_request *req)
{
	return req->args.flags & CRYO_CKPT_TRACK &&
	       !(req->args.flags & (CRYO_CKPT_HOLD | CRYO_CKPT_SIGNAL)) &&
	       cryo_has(CRYO_FEATURE_TRACK);
}

static int write_protected(struct cryo_capture *c)
{
	int err;

	cryo_request_state(c->req, CRYO_STATE_WRITING);
	err = write_described(c) ?:
	      cryo_write_snapshot(c, c->snapshot) ?:
	      check_alive(c);
	cryo_point("memory");
	return err ?: cryo_stream_end(&c->stream);
}

static int write_from_snapshot(struct cryo_capture *c, bool goes_on)
{
	int err;

	c->snapshot = kzalloc(sizeof(*c->snapshot), GFP_KERNEL_ACCOUNT);
	if (!c->snapshot)
		return -ENOMEM;
	c->snapshot->goes_on = goes_on;
	c->snapshot->stop = cryo_freeze_again;
	err = take_snapshots(c);
	cryo_point("snapshot");
	if (!err)
		err = goes_on ? write_behind(c) : write_protected(c);
	if (!err && c->snapshot->copied)
		cryo_log(&c->req->log, "pid %d (%s): %llu KiB of memory had extra page references (I/O in flight) and were copied while frozen",
			 c->req->pid, c->req->comm, c->snapshot->copied << (PAGE_SHIFT - 10));
	cryo_snapshot_free(c->snapshot);
	kfree(c->snapshot);
	c->snapshot = NULL;
	return err;
}

static int write_context(struct cryo_capture *c)
{
	int err = CRYO_NO_SNAPSHOT;

	c->req->estimate = c->stream.offset;
	each_proc(c, estimate_proc);
	if (wants_snapshot(c->req))
		err = write_from_snapshot(c, true);
	else if (wants_account(c->req))
		err = write_from_snapshot(c, false);
	if (err != CRYO_NO_SNAPSHOT)
		return err;
	each_proc(c, forget_protected);
	if (c->req->args.flags & CRYO_CKPT_GOES_ON)
		return -EDEADLK;
	return write_stopped(c);
}

static struct cryo_capture *capture_alloc(struct cryo_request *req)
{
	struct cryo_capture *c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);
	int err;

	if (!c)
		return ERR_PTR(-ENOMEM);
	c->req = req;
	INIT_LIST_HEAD(&c->inodes);
	INIT_LIST_HEAD(&c->files);
	INIT_LIST_HEAD(&c->waiting);
	INIT_LIST_HEAD(&c->mount_spaces);
	xa_init_flags(&c->seen_mounts, XA_FLAGS_ACCOUNT);
	xa_init_flags(&c->memories, XA_FLAGS_ACCOUNT);
	xa_init_flags(&c->eventfds, XA_FLAGS_ACCOUNT);
	cryo_ipc_spaces_init(c);
	cryo_shared_pages_init(&c->shared);
	err = cryo_objects_init(c) ?:
	      cryo_stream_init(&c->stream, req->out, &req->written, req->args.flags);
	if (!err)
		return c;
	kvfree(c->objects);
	kfree(c);
	return ERR_PTR(err);
}

/*
 * All that is not memory or the contents of files, into the memory of the stream: this waits for no
 * reader.
 */
static int look_at_all(struct cryo_capture *c)
{
	int err;

	cryo_inspect_begin(c->req);
	err = each_proc(c, check_proc) ?: check_anybody(c) ?: cryo_requester_begin(c) ?:
	      check_alive(c) ?: cryo_find_sharers(c) ?: cryo_check_outsiders(c) ?:
	      each_proc(c, collect_proc) ?: each_proc(c, cryo_check_directories) ?:
	      cryo_collect_sockets(c) ?: cryo_collect_shm(c) ?:
	      cryo_collect_mqueues(c) ?: cryo_requester_pipes(c);
	if (!err) {
		cryo_requester_shares(c);
		err = cryo_classify_files(c);
	}
	cryo_point("looking");
	/* With obstacles too: describing finds more of them. */
	if (!err)
		err = describe_checkpoint(c);
	if (!err)
		err = check_alive(c);
	cryo_requester_end(c);
	cryo_inspect_end(c->req);
	/* That was why it was given up; or it came at the very end, when nobody asked any more. */
	if (READ_ONCE(c->req->lost))
		err = log_exited(c, c->req->lost);
	cryo_refuse_too_big(c, cryo_first_proc(c->req), err);
	return err;
}

/* With all threads in scope parked: write the context, or say all that is in the way. */
int cryo_capture(struct cryo_request *req)
{
	bool dry = req->args.flags & CRYO_CKPT_DRY_RUN;
	struct cryo_capture *c = capture_alloc(req);
	int err;

	if (IS_ERR(c))
		return PTR_ERR(c);
	if (req->args.flags & CRYO_CKPT_TRACK)
		req->track_serial = cryo_track_serial();
	err = look_at_all(c);
	cryo_point("described");
	/* An error that came with obstacles most likely came from them. */
	if (c->obstacles)
		err = -EOPNOTSUPP;
	if (!err && !dry)
		err = write_context(c);
	capture_free(c);
	return err;
}
