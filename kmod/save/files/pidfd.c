// SPDX-License-Identifier: GPL-2.0-only
/*
 * pidfd.c - pidfd_open(2)
 *
 * A pidfd is of a process, not of a number: it can be made again only when the process comes back
 * too.  Of one that has been waited for it tells no more than that.
 */
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/pidfd.h"
#include "resources.h"
#include "save/files.h"

struct pidfd_owner {
	pid_t pid;		/* 0: has been waited for */
	bool thread;		/* other than the first of its process */
	struct task_struct *outsider;	/* counted; NULL: it is of a process of the scope */
};

bool cryo_is_pidfd(struct file *file)
{
	return cryo_pidfd_pid(file);
}

/*
 * A pidfd can be had of any process, by its number alone: it entitles to nothing that there is to
 * tell about that.
 */
static struct pidfd_owner owner_of_pidfd(struct cryo_capture *c, struct file *file)
{
	struct pid *pid = cryo_pidfd_pid(file);
	struct pidfd_owner out = {};
	struct task_struct *task;
	struct cryo_proc *proc;

	rcu_read_lock();
	task = pid_task(pid, PIDTYPE_TGID) ?: pid_task(pid, PIDTYPE_PID);
	proc = task ? cryo_find_proc(c->req, task) : NULL;
	/* One that is not going to be in the context has ended for good. */
	if (task && !(proc && proc->gone)) {
		out.pid = proc ? proc->pid : task_pid_vnr(task);
		out.thread = !thread_group_leader(task);
		if (!proc)
			out.outsider = get_task_struct(task);
	}
	rcu_read_unlock();
	return out;
}

static const char *pidfd_obstacle(struct cryo_object *o, pid_t pid, bool thread)
{
	if (pid && thread)
		return "pidfd of a thread other than the first";
	if (cryo_pidfd_kills(o->file))
		return "pidfd that kills its process when it is closed";
	/* Messages are put back before the processes are there. */
	if (pid && o->carrier >= 0)
		return "pidfd that is under way in a message";
	return NULL;
}

/* CRYO_FILE_PIDFD, or 0 for what is refused: with @obstacle, or in words of its own. */
int cryo_classify_pidfd(struct cryo_capture *c, struct cryo_object *o, const char **obstacle)
{
	struct pidfd_owner of = owner_of_pidfd(c, o->file);
	char who[CRYO_WHO_MAX];

	if (of.outsider) {
		cryo_describe_task(of.outsider, who, sizeof(who));
		put_task_struct(of.outsider);
		cryo_refuse(c, o->proc, "fd %d (pidfd): it is of %s, which is outside the checkpoint",
			    o->fd >= 0 ? o->fd : o->carrier, who);
		return 0;
	}
	*obstacle = pidfd_obstacle(o, of.pid, of.thread);
	return *obstacle ? 0 : CRYO_FILE_PIDFD;
}

static int save_pidfd(struct cryo_capture *c, struct cryo_object *o)
{
	struct pidfd_owner of = owner_of_pidfd(c, o->file);
	struct cryo_pidfd out = { .pid = of.pid };

	if (of.outsider)
		put_task_struct(of.outsider);
	if (cryo_pidfd_is_of_thread(o->file))
		out.flags |= CRYO_PIDFD_THREAD;
	return cryo_stream_section(&c->stream, CRYO_SEC_PIDFD, o->id, sizeof(out), &out,
				   sizeof(out));
}

const struct cryo_file_kind cryo_file_kind_pidfd = {
	.kind = CRYO_FILE_PIDFD,
	.save = save_pidfd,
};
