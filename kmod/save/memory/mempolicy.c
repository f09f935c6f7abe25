// SPDX-License-Identifier: GPL-2.0-only
/* mempolicy.c - NUMA policies: of threads, and of areas of memory */
#include <linux/mempolicy.h>
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/sched/task.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "lib/buf.h"
#include "save/memory.h"

#ifdef CONFIG_NUMA

static void describe_policy(const struct mempolicy *policy, struct cryo_mempolicy *out)
{
	/* With these, what the user asked for, to be mapped on the nodes of the day. */
	bool asked = policy->flags & (MPOL_F_STATIC_NODES | MPOL_F_RELATIVE_NODES);

	BUILD_BUG_ON(sizeof(nodemask_t) > sizeof(out->nodes));
	out->mode = policy->mode;
	out->flags = policy->flags & MPOL_MODE_FLAGS;
	out->home_node = policy->home_node;
	memcpy(out->nodes, asked ? &policy->w.user_nodemask : &policy->nodes, sizeof(nodemask_t));
}

/* With mmap_lock held. */
int cryo_note_mempolicy(struct cryo_proc *p, struct vm_area_struct *vma)
{
	struct cryo_mempolicy out = { .start = vma->vm_start, .end = vma->vm_end, .of_mm = 1 };

	lockdep_assert_held(&vma->vm_mm->mmap_lock);
	if (!vma->vm_policy)
		return 0;
	describe_policy(vma->vm_policy, &out);
	cryo_buf_put(&p->mempolicies, &out, sizeof(out));
	return p->mempolicies.error;
}

int cryo_save_thread_mempolicy(struct cryo_capture *c, struct task_struct *task)
{
	struct {
		struct cryo_array head;
		struct cryo_mempolicy policy;
	} out = { .head = { 1, sizeof(struct cryo_mempolicy) } };
	bool found;

	task_lock(task);
	found = task->mempolicy;
	if (found)
		describe_policy(task->mempolicy, &out.policy);
	task_unlock(task);
	if (!found)
		return 0;
	return cryo_stream_section(&c->stream, CRYO_SEC_MEMPOLICY, task_pid_vnr(task),
				   sizeof(out.head), &out, sizeof(out));
}

#else

int cryo_note_mempolicy(struct cryo_proc *p, struct vm_area_struct *vma)
{
	return 0;
}

int cryo_save_thread_mempolicy(struct cryo_capture *c, struct task_struct *task)
{
	return 0;
}

#endif

int cryo_save_mempolicies(struct cryo_capture *c, struct cryo_proc *p)
{
	size_t size = sizeof(struct cryo_mempolicy);
	struct cryo_array head = { p->mempolicies.len / size, size };
	struct cryo_buf buf = {};

	if (!head.count)
		return 0;
	cryo_buf_put(&buf, &head, sizeof(head));
	cryo_buf_put(&buf, p->mempolicies.data, p->mempolicies.len);
	return cryo_stream_buf(&c->stream, CRYO_SEC_MEMPOLICY, p->mm_id, sizeof(head), &buf);
}
