// SPDX-License-Identifier: GPL-2.0-only
/*
 * ns_file.c - descriptors of namespaces, as of /proc/PID/ns
 *
 * They keep a namespace alive without a process in it. Those that the requester or a process of the
 * job is in can be had again.
 */
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/proc_ns.h>
#include <linux/sched.h>

#include "capture/capture.h"
#include "compat/ns_common.h"
#include "resources.h"
#include "save/ns/ns_file.h"

bool cryo_is_ns_file(struct file *file)
{
	return file_inode(file)->i_sb->s_magic == NSFS_MAGIC && !(file->f_mode & FMODE_PATH);
}

static bool is_in_ns(struct task_struct *task, struct ns_common *ns)
{
	struct ns_common *its = ns->ops->get(task);
	bool in = its == ns;

	if (its)
		ns->ops->put(its);
	return in;
}

static bool job_is_in_ns(struct cryo_capture *c, struct ns_common *ns)
{
	struct cryo_proc *p;

	cryo_for_each_proc(p, c->req)
		if (p->task && !p->zombie && !p->gone && !p->omitted && is_in_ns(p->task, ns))
			return true;
	return false;
}

const char *cryo_ns_file_obstacle(struct cryo_capture *c, struct cryo_object *o)
{
	struct ns_common *ns = get_proc_ns(file_inode(o->file));

	if (is_in_ns(current, ns))
		return NULL;
	/* These are not there before the processes that are in them. */
	if (cryo_ns_type(ns) == CLONE_NEWPID || cryo_ns_type(ns) == CLONE_NEWTIME)
		return "pid or time namespace other than the requester's";
	return job_is_in_ns(c, ns) ? NULL : "namespace that no process of the job is in";
}

/* As struct cryo_file says. */
static u64 ns_file_position(struct cryo_object *o)
{
	struct ns_common *ns = get_proc_ns(file_inode(o->file));

	return (u64)cryo_ns_type(ns) << 32 | (is_in_ns(current, ns) ? 0 : ns->inum);
}

const struct cryo_file_kind cryo_file_kind_namespace = {
	.kind = CRYO_FILE_NAMESPACE,
	.position = ns_file_position,
};
