// SPDX-License-Identifier: GPL-2.0-only
/* uclamp.c - utilization clamps of a thread, on kernels that have them */
#include <linux/sched.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "resources.h"
#include "save/process.h"

#ifdef CONFIG_UCLAMP_TASK

static u32 asked_for(struct task_struct *task, enum uclamp_id id)
{
	return task->uclamp_req[id].user_defined ? task->uclamp_req[id].value : CRYO_UCLAMP_NONE;
}

static int save_uclamp(struct cryo_capture *c, struct cryo_proc *p, struct cryo_parked *t)
{
	struct task_struct *task = t->task;
	struct cryo_uclamp out = { asked_for(task, UCLAMP_MIN), asked_for(task, UCLAMP_MAX) };

	if (out.min == CRYO_UCLAMP_NONE && out.max == CRYO_UCLAMP_NONE)
		return 0;
	return cryo_stream_section(&c->stream, CRYO_SEC_UCLAMP, task_pid_vnr(task), sizeof(out),
				   &out, sizeof(out));
}

#else

static int save_uclamp(struct cryo_capture *c, struct cryo_proc *p, struct cryo_parked *t)
{
	return 0;
}

#endif

const struct cryo_thread_resource cryo_thread_resource_uclamp = {
	.save = save_uclamp,
};
