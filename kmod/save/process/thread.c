// SPDX-License-Identifier: GPL-2.0-only
/* thread.c - what belongs to one thread: masks, stacks, lists, scheduling */
#include <linux/ioprio.h>
#include <linux/iocontext.h>
#include <linux/sched/deadline.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/string.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/sched.h"
#include "lib/buf.h"
#include "resources.h"
#include "save/process.h"
#include "syscalls/syscalls.h"

static void save_masks(struct task_struct *task, struct cryo_thread *out)
{
	memcpy(&out->sigmask, &task->blocked, sizeof(out->sigmask));
	if (test_tsk_restore_sigmask(task)) {
		out->flags |= CRYO_THREAD_RESTORE_SIGMASK;
		memcpy(&out->saved_sigmask, &task->saved_sigmask, sizeof(out->saved_sigmask));
	}
	out->altstack_sp = task->sas_ss_sp;
	out->altstack_size = task->sas_ss_size;
	out->altstack_flags = task->sas_ss_flags;
}

static void save_user_pointers(struct task_struct *task, struct cryo_thread *out)
{
	struct cryo_rseq rseq = cryo_task_rseq(task);

	out->clear_child_tid = (unsigned long)task->clear_child_tid;
	out->robust_list = (unsigned long)cryo_task_robust_list(task);
	out->robust_list_len = out->robust_list ? sizeof(struct robust_list_head) : 0;
	if (rseq.addr) {
		out->flags |= CRYO_THREAD_RSEQ;
		out->rseq = rseq.addr;
		out->rseq_len = rseq.len;
		out->rseq_sig = rseq.sig;
	}
}

static void save_scheduling(struct task_struct *task, struct cryo_thread *out)
{
	out->nice = task_nice(task);
	out->sched_policy = task->policy;
	if (task->sched_reset_on_fork)
		out->sched_flags |= SCHED_FLAG_RESET_ON_FORK;
	if (task->policy == SCHED_FIFO || task->policy == SCHED_RR)
		out->sched_priority = task->rt_priority;
	if (task->policy == SCHED_DEADLINE) {
		out->sched_runtime = task->dl.dl_runtime;
		out->sched_deadline = task->dl.dl_deadline;
		out->sched_period = task->dl.dl_period;
	}
	out->timer_slack_ns = task->timer_slack_ns;
	out->default_timer_slack_ns = task->default_timer_slack_ns;
	out->pdeath_signal = task->pdeath_signal;
	task_lock(task);
	if (task->io_context)
		out->ioprio = task->io_context->ioprio;
	task_unlock(task);
}

static void put_affinity(struct task_struct *task, struct cryo_thread *out, struct cryo_buf *buf)
{
	unsigned int cpu;
	u64 *word = NULL;

	out->nr_cpus = round_up(nr_cpu_ids, 64);
	cryo_buf_put(buf, out, sizeof(*out));
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		if (cpu % 64 == 0)
			word = cryo_buf_add(buf, sizeof(*word));
		if (word && cpumask_test_cpu(cpu, &task->cpus_mask))
			*word |= 1ULL << (cpu % 64);
	}
}

static int save_thread(struct cryo_capture *c, struct cryo_proc *p, struct cryo_parked *t)
{
	struct task_struct *task = t->task;
	struct cryo_thread out = {
		.tid = task_pid_vnr(task),
		.pid = p->pid,
		.flags = thread_group_leader(task) ? CRYO_THREAD_LEADER : 0,
	};
	struct cryo_buf buf = {};

	if (task_no_new_privs(task) && !p->no_new_privs)
		out.flags |= CRYO_THREAD_NO_NEW_PRIVS;
	get_task_comm(out.comm, task);
	save_masks(task, &out);
	save_user_pointers(task, &out);
	save_scheduling(task, &out);
	cryo_restart_block_save(c, p, task, &out);
	put_affinity(task, &out, &buf);
	return cryo_stream_buf(&c->stream, CRYO_SEC_THREAD, out.tid, sizeof(out), &buf);
}

/*
 * A main thread that has exited while others live: its id and name are still there, and its status.
 */
int cryo_save_exited_leader(struct cryo_capture *c, struct cryo_proc *p)
{
	struct task_struct *task = p->task->group_leader;
	struct cryo_thread out = {
		.tid = p->pid,
		.pid = p->pid,
		.flags = CRYO_THREAD_LEADER | CRYO_THREAD_EXITED,
		.timer_slack_ns = task->timer_slack_ns,
		.default_timer_slack_ns = task->default_timer_slack_ns,
	};

	if (thread_group_leader(p->task))
		return 0;
	if (task->exit_code & 0x7f)
		cryo_refuse(c, p, "its main thread was killed while others live");
	get_task_comm(out.comm, task);
	return cryo_stream_section(&c->stream, CRYO_SEC_THREAD, out.tid, sizeof(out), &out,
				   sizeof(out));
}

const struct cryo_thread_resource cryo_thread_resource_thread = {
	.save = save_thread,
};
