// SPDX-License-Identifier: GPL-2.0-only
/* save_cgroup.c - the control group of the unified hierarchy, by its path */
#include <linux/cgroup.h>
#include <linux/nsproxy.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "cryo.h"

/* As the requester sees it. An error means that it has none that can be told: nothing is lost then. */
static int path_of(struct task_struct *task, char *buf, size_t size)
{
	struct cgroup *cgrp;
	int len;

	rcu_read_lock();
	cgrp = rcu_dereference(task->cgroups)->dfl_cgrp;
	if (!css_tryget(&cgrp->self))
		cgrp = NULL;
	rcu_read_unlock();
	if (!cgrp)
		return 0;
	len = cgroup_path_ns(cgrp, buf, size, current->nsproxy->cgroup_ns);	/* sleeps */
	cgroup_put(cgrp);
	return len > 0 && len < size ? len : 0;
}

int cryo_save_cgroup(struct cryo_capture *c)
{
	char *path = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	int len, err = 0;

	if (!path)
		return -ENOMEM;
	len = path_of(c->p->task, path, PATH_MAX);
	if (len)
		err = cryo_stream_section(&c->stream, CRYO_SEC_CGROUP, c->p->pid, 0, path, len);
	kfree(path);
	return err;
}
