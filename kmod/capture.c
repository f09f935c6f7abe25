// SPDX-License-Identifier: GPL-2.0-only
/*
 * capture.c - from parked threads to a written context
 *
 * First everything is collected and checked: all obstacles are found before a
 * byte is written.  Then it is described in sections, then memory is written.
 */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat/ksym.h"
#include "cryo.h"
#include "cryo_arch.h"

static void log_line(struct cryo_capture *c, const char *what, struct va_format *vaf)
{
	cryo_log(&c->req->log, "pid %d (%s): %s%pV", c->req->pid, c->req->comm, what, vaf);
}

void cryo_refuse(struct cryo_capture *c, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	c->obstacles++;
	va_start(args, fmt);
	vaf.va = &args;
	log_line(c, "", &vaf);
	va_end(args);
}

void cryo_warn(struct cryo_capture *c, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	log_line(c, "warning: ", &vaf);
	va_end(args);
}

/* Still the process that was asked for, and still the caller's to look into? */
static int check_target(struct cryo_capture *c)
{
	struct cryo_parked *p;

	list_for_each_entry(p, &c->req->parked, node) {
		if (READ_ONCE(p->state) == CRYO_PARK_GONE)
			continue;
		if (!cryo_ptrace_may_access(p->task, PTRACE_MODE_ATTACH_REALCREDS))
			return -EPERM;
		/* Not c->req->target: exec() in another thread makes that the leader. */
		if (thread_group_leader(p->task))
			c->task = p->task;
	}
	if (!c->task) {
		if (c->req->target->exit_state == EXIT_ZOMBIE && c->req->threads)
			cryo_refuse(c, "its main thread has exited while others live");
		return c->obstacles ? -EOPNOTSUPP : -ESRCH;
	}
	c->mm = get_task_mm(c->task);
	return c->mm ? 0 : -ESRCH;
}

static int collect(struct cryo_capture *c)
{
	struct cryo_parked *p;
	int err;

	cryo_check_process(c);
	err = cryo_collect_fds(c) ?: cryo_collect_vmas(c) ?: cryo_classify_files(c);
	if (err)
		return err;
	list_for_each_entry(p, &c->req->parked, node)
		if (READ_ONCE(p->state) != CRYO_PARK_GONE)
			cryo_arch_check(c, p->task);
	return 0;
}

static int save_threads(struct cryo_capture *c)
{
	struct cryo_parked *p;
	int err = 0;

	list_for_each_entry(p, &c->req->parked, node) {
		if (READ_ONCE(p->state) == CRYO_PARK_GONE)
			continue;
		err = cryo_save_thread(c, p) ?: cryo_save_regsets(c, p->task) ?:
		      cryo_save_seccomp(c, p->task) ?: cryo_save_uclamp(c, p->task) ?:
		      cryo_save_thread_mempolicy(c, p->task) ?:
		      cryo_save_sigpending(c, p->task, false);
		if (err)
			break;
	}
	return err;
}

/* A thread that was killed while the capture looked at it makes the whole worthless. */
static int check_alive(struct cryo_capture *c)
{
	struct cryo_parked *p;
	int err = cryo_request_interrupted(c->req);

	if (err)
		return err;
	list_for_each_entry(p, &c->req->parked, node) {
		if (READ_ONCE(p->state) == CRYO_PARK_GONE && p->counted)
			return -ESRCH;
		p->counted = READ_ONCE(p->state) != CRYO_PARK_GONE;
	}
	return 0;
}

static int describe(struct cryo_capture *c)
{
	return cryo_stream_header(&c->stream) ?:
	       cryo_save_system(c) ?:
	       cryo_arch_save_cpu(c) ?:
	       cryo_save_process(c) ?:
	       cryo_save_creds(c) ?:
	       cryo_save_cwd(c) ?:
	       cryo_save_rlimits(c) ?:
	       cryo_save_sigactions(c) ?:
	       cryo_save_sigpending(c, c->task, true) ?:
	       cryo_save_itimers(c) ?:
	       cryo_save_inodes(c) ?:
	       cryo_save_files(c) ?:
	       cryo_save_mm(c) ?:
	       cryo_save_mempolicies(c) ?:
	       cryo_save_cgroup(c) ?:
	       cryo_save_fds(c) ?:
	       cryo_save_locks(c) ?:
	       save_threads(c) ?:
	       cryo_save_posix_timers(c);
}

static int write_context(struct cryo_capture *c)
{
	int err;

	c->req->estimate = cryo_estimate(c);
	cryo_request_state(c->req, CRYO_STATE_WRITING);
	err = cryo_stream_flush(&c->stream) ?:
	      cryo_save_memory(c) ?:
	      cryo_save_contents(c) ?:
	      check_alive(c);
	return err ?: cryo_stream_end(&c->stream);
}

static void capture_free(struct cryo_capture *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_fds; i++)
		fput(c->fds[i].file);
	kvfree(c->fds);
	kvfree(c->vmas);
	cryo_buf_free(&c->mempolicies);
	cryo_objects_free(c);
	if (c->exe)
		fput(c->exe);
	cryo_stream_free(&c->stream);
	if (c->mm)
		mmput(c->mm);
	kfree(c);
}

static struct cryo_capture *capture_alloc(struct cryo_request *req)
{
	struct cryo_capture *c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);

	if (!c)
		return NULL;
	c->req = req;
	hash_init(c->objects);
	INIT_LIST_HEAD(&c->inodes);
	INIT_LIST_HEAD(&c->files);
	c->next_id = CRYO_MM_ID;
	cryo_stream_init(&c->stream, req->out, &req->written);
	return c;
}

/* With all threads of the target parked: write its context, or say all that is in the way. */
int cryo_capture(struct cryo_request *req)
{
	bool dry = req->args.flags & CRYO_CKPT_DRY_RUN;
	struct cryo_capture *c = capture_alloc(req);
	int err;

	if (!c)
		return -ENOMEM;
	err = check_target(c) ?: check_alive(c) ?: collect(c);
	/* With obstacles too: describing finds more of them. */
	if (!err)
		err = describe(c);
	if (!err)
		err = check_alive(c);
	/* An error that came with obstacles most likely came from them. */
	if (c->obstacles)
		err = -EOPNOTSUPP;
	if (!err && !dry)
		err = write_context(c);
	capture_free(c);
	return err;
}
