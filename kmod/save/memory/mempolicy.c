// SPDX-License-Identifier: GPL-2.0-only
/* mempolicy.c - NUMA policies: of threads, and of areas of memory */
#include <linux/mempolicy.h>
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/sched/task.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "lib/buf.h"
#include "resources.h"
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
static int collect_mempolicy(struct cryo_proc *p, struct vm_area_struct *vma,
			     const struct cryo_vma *area)
{
	struct cryo_buf *notes = &p->notes[CRYO_NOTE_MEMPOLICIES];
	struct cryo_mempolicy out = { .start = vma->vm_start, .end = vma->vm_end, .of_mm = 1 };

	lockdep_assert_held(&vma->vm_mm->mmap_lock);
	if (!vma->vm_policy)
		return 0;
	describe_policy(vma->vm_policy, &out);
	cryo_buf_put(notes, &out, sizeof(out));
	return notes->error;
}

static int save_thread_mempolicy(struct cryo_capture *c, struct cryo_proc *p, struct cryo_parked *t)
{
	struct task_struct *task = t->task;
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

static int collect_mempolicy(struct cryo_proc *p, struct vm_area_struct *vma,
			     const struct cryo_vma *area)
{
	return 0;
}

static int save_thread_mempolicy(struct cryo_capture *c, struct cryo_proc *p, struct cryo_parked *t)
{
	return 0;
}

#endif

static int save_mempolicies(struct cryo_capture *c, struct cryo_proc *p)
{
	size_t size = sizeof(struct cryo_mempolicy);
	const struct cryo_buf *notes = &p->notes[CRYO_NOTE_MEMPOLICIES];
	struct cryo_array head = { notes->len / size, size };
	struct cryo_buf buf = {};

	if (!head.count)
		return 0;
	cryo_buf_put(&buf, &head, sizeof(head));
	cryo_buf_put(&buf, notes->data, notes->len);
	return cryo_stream_buf(&c->stream, CRYO_SEC_MEMPOLICY, p->mm_id, sizeof(head), &buf);
}

const struct cryo_resource cryo_resource_mempolicies = {
	.collect_area = collect_mempolicy,
	.save_memory = save_mempolicies,
};

const struct cryo_thread_resource cryo_thread_resource_mempolicy = {
	.save = save_thread_mempolicy,
};
