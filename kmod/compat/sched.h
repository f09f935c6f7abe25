/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/sched.h: task_struct of several generations. */
#ifndef CRYO_COMPAT_SCHED_H
#define CRYO_COMPAT_SCHED_H

#include <linux/futex.h>
#include <linux/rseq.h>
#include <linux/sched.h>
#include <linux/version.h>

/* sched.h has it since v6.12; before, it is in uapi. */
#include <uapi/linux/sched.h>

/*
 * Threads of the kernel's in a process: of io_uring; and since v6.4 (54e6842d0775) of vhost and
 * others.
 */
#ifdef PF_USER_WORKER
#define CRYO_PF_WORKER	(PF_IO_WORKER | PF_USER_WORKER)
#else
#define CRYO_PF_WORKER	PF_IO_WORKER
#endif

/* task->futex since v7.0. */
static inline struct robust_list_head __user *cryo_task_robust_list(struct task_struct *task)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	return task->futex.robust_list;
#else
	return task->robust_list;
#endif
}

struct cryo_rseq {
	unsigned long addr;
	u32 len;
	u32 sig;
};

/* rseq, rseq_sig; and rseq_len since v6.3 ee3e3ac05c26; one structure since v6.19. */
static inline struct cryo_rseq cryo_task_rseq(struct task_struct *task)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
	return (struct cryo_rseq){ (unsigned long)task->rseq.usrptr, task->rseq.len,
				   task->rseq.sig };
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	return (struct cryo_rseq){ (unsigned long)task->rseq, task->rseq_len, task->rseq_sig };
#else
	return (struct cryo_rseq){ (unsigned long)task->rseq,
				   task->rseq ? sizeof(struct rseq) : 0, task->rseq_sig };
#endif
}

#endif
