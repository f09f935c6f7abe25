// SPDX-License-Identifier: GPL-2.0-only
/* regs.c - registers, through the regsets that core dumps and debuggers use */
#include <linux/elf.h>
#include <linux/regset.h>
#include <linux/rseq.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "capture/read_memory.h"
#include "compat/sched.h"
#include "cryo_arch.h"
#include "lib/buf.h"
#include "resources.h"
#include "save/process.h"

/*
 * A thread inside a restartable sequence (rseq(2)) must not find itself in the
 * middle of it on another CPU: being preempted moves it to the abort handler, and so
 * does being checkpointed.
 */
static int abort_rseq(struct cryo_request *req, struct task_struct *task, void *regs, size_t len)
{
	unsigned long addr = cryo_task_rseq(task).addr;
	u64 ip = cryo_arch_regs_ip(regs, len);
	struct rseq_cs cs;
	u64 where;
	int err;

	if (!addr)
		return 0;
	err = cryo_read_memory(req, task, addr + offsetof(struct rseq, rseq_cs), &where,
			       sizeof(where));
	if (err || !where)
		return err;
	err = cryo_read_memory(req, task, where, &cs, sizeof(cs));
	if (!err && ip - cs.start_ip < cs.post_commit_offset)
		cryo_arch_regs_set_ip(regs, len, cs.abort_ip);
	return err;
}

static int save_regset(struct cryo_capture *c, struct task_struct *task,
		       const struct user_regset *set)
{
	struct cryo_regset_head head = { .note = set->core_note_type, .item_size = set->size };
	struct cryo_buf buf = {};
	void *data = NULL;
	int err = 0, len = regset_get_alloc(task, set, set->n * set->size, &data);

	if (len == -ENODATA || len == -ENODEV)
		len = cryo_arch_regset_get(task, set->core_note_type, &data);
	/* The CPU or the thread does not have it. */
	if (len == -ENODEV || len == -ENXIO || len == -EOPNOTSUPP || len == -EINVAL ||
	    len == -ENODATA || !len) {
		kvfree(data);
		return 0;
	}
	if (len < 0)
		return len;
	if (set->core_note_type == NT_PRSTATUS)
		err = abort_rseq(c->req, task, data, len);
	if (err) {
		kvfree(data);
		return err;
	}
	cryo_buf_put(&buf, &head, sizeof(head));
	cryo_buf_put(&buf, data, len);
	kvfree(data);
	cryo_arch_extend_regset(c, task, set->core_note_type, &buf);
	return cryo_stream_buf(&c->stream, CRYO_SEC_REGSET, task_pid_vnr(task), sizeof(head), &buf);
}

static int save_regsets(struct cryo_capture *c, struct cryo_proc *p, struct cryo_parked *t)
{
	const struct user_regset_view *view = task_user_regset_view(t->task);
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < view->n; i++) {
		const struct user_regset *set = &view->regsets[i];

		if (set->regset_get && cryo_arch_want_regset(set->core_note_type))
			err = save_regset(c, t->task, set);
	}
	return err ?: cryo_arch_save_more_regsets(c, t->task);
}

const struct cryo_thread_resource cryo_thread_resource_regsets = {
	.save = save_regsets,
};
