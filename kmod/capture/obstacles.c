// SPDX-License-Identifier: GPL-2.0-only
/*
 * obstacles.c - what is in the way of a checkpoint, and what else is worth saying
 */
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "access/access.h"
#include "capture/capture.h"

static void log_line(struct cryo_capture *c, const char *what, struct va_format *vaf)
{
	cryo_log(&c->req->log, "pid %d (%s): %s%pV", c->p->pid, c->p->comm, what, vaf);
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

/*
 * @what could not be looked at, by @err. That is an obstacle, unless it is for want of memory or time, or because
 * somebody has been killed: then it is the error.
 */
int cryo_refuse_unseen(struct cryo_capture *c, const char *what, int err)
{
	switch (err) {
	case -ENOMEM:
	case -EINTR:
	case -ESRCH:
	case -ETIMEDOUT:
	case -ECANCELED:
		return err;
	}
	cryo_refuse(c, "its %s cannot be looked at (error %d)", what, -err);
	return 0;
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

void cryo_warn(struct cryo_capture *c, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	log_line(c, "warning: ", &vaf);
	va_end(args);
}

void cryo_warn_always(struct cryo_capture *c, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	/* tools/cr_checkpoint/job.cc looks for that. */
	log_line(c, "WARNING: ", &vaf);
	va_end(args);
}

int cryo_look_interrupted(struct cryo_capture *c)
{
	/* Who has been killed meanwhile waits until this ends. */
	return cryo_request_interrupted(c->req);
}
