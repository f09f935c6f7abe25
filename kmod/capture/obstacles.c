// SPDX-License-Identifier: GPL-2.0-only
/*
 * obstacles.c - what is in the way of a checkpoint, and what else is worth saying
 */
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "access/access.h"
#include "capture/capture.h"
#include "lib/point.h"

static void log_line(struct cryo_capture *c, const struct cryo_proc *p, const char *what,
		     struct va_format *vaf)
{
	cryo_log(&c->req->log, "pid %d (%s): %s%pV", p->pid, p->comm, what, vaf);
}

void cryo_refuse(struct cryo_capture *c, const struct cryo_proc *p, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	c->obstacles++;
	va_start(args, fmt);
	vaf.va = &args;
	log_line(c, p, "", &vaf);
	va_end(args);
}

/*
 * @what could not be looked at, by @err. That is an obstacle, unless it is for want of memory or
 * time, or because somebody has been killed: then it is the error.
 */
int cryo_refuse_uninspectable(struct cryo_capture *c, const struct cryo_proc *p, const char *what,
			      int err)
{
	switch (err) {
	case -ENOMEM:
	case -EINTR:
	case -ESRCH:
	case -ETIMEDOUT:
	case -ECANCELED:
		return err;
	}
	cryo_refuse(c, p, "its %s cannot be inspected: %pe", what, ERR_PTR(err));
	return 0;
}

/* All of it is in memory that the requester pays for, before a byte is written. */
void cryo_refuse_too_big(struct cryo_capture *c, const struct cryo_proc *p, int err)
{
	if (c->said_too_big || (err != -EFBIG && !c->stream.full))
		return;
	c->said_too_big = true;
	if (c->stream.full)
		cryo_refuse(c, p, "a job with more than %u MiB of kernel state (data queued in pipes, sockets and message queues, names) is not supported",
			    CRYO_META_MAX / SZ_1M);
	else
		cryo_refuse(c, p, "an object with more than %lu MiB of kernel state (data queued in a pipe, socket or message queue, a list) is not supported",
			    CRYO_BUF_MAX / SZ_1M);
}

void cryo_describe_task(struct task_struct *task, char *buf, size_t size)
{
	pid_t pid = task_tgid_vnr(task);
	char comm[TASK_COMM_LEN];

	if (!pid || !cryo_may_see(task)) {
		strscpy(buf, "another process", size);
		return;
	}
	get_task_comm(comm, task);
	snprintf(buf, size, "pid %d (%s)", pid, comm);
}

void cryo_warn(struct cryo_capture *c, const struct cryo_proc *p, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	log_line(c, p, "warning: ", &vaf);
	va_end(args);
}

void cryo_warn_always(struct cryo_capture *c, const struct cryo_proc *p, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	/* tools/cr_checkpoint/job.cc looks for that. */
	log_line(c, p, "WARNING: ", &vaf);
	va_end(args);
}

int cryo_capture_interrupted(struct cryo_capture *c)
{
	cryo_point("look");
	/* A thread killed meanwhile waits until this ends. */
	return cryo_request_interrupted(c->req);
}
