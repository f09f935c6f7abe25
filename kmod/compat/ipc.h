/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ipc/shm.c, sem.c, msg.c, msgutil.c: System V objects. Private structures, the same in layout from
 * v5.16 to v7.2 but for the differences handled here.
 */
#ifndef CRYO_COMPAT_IPC_H
#define CRYO_COMPAT_IPC_H

#include <linux/idr.h>
#include <linux/ipc.h>
#include <linux/ipc_namespace.h>
#include <linux/list.h>
#include <linux/msg.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sem.h>
#include <linux/shm.h>
#include <linux/spinlock.h>
#include <linux/version.h>

#include "layouts.h"

/* Indices of struct ipc_namespace.ids. */
#define CRYO_IPC_SEM	0
#define CRYO_IPC_MSG	1
#define CRYO_IPC_SHM	2

/*
 * Of an id: where the object is; the rest is a sequence number. IPCMNI_SHIFT, without
 * ipcmni_extend.
 */
#define CRYO_IPC_INDEX_BITS	15

/* struct shmid_kernel; what follows is not looked at. */
struct cryo_shmid {
	struct kern_ipc_perm shm_perm;
	struct file *shm_file;
	unsigned long shm_nattch;
	unsigned long shm_segsz;
	time64_t shm_atim;
	time64_t shm_dtim;
	time64_t shm_ctim;
	struct pid *shm_cprid;
	struct pid *shm_lprid;
};

/* Bits of shm_perm.mode. */
#define CRYO_SHM_DEST	01000
#define CRYO_SHM_LOCKED	02000

/* struct sem */
struct cryo_sem_one {
	int semval;
	struct pid *sempid;
	spinlock_t lock;
	struct list_head pending_alter;
	struct list_head pending_const;
	time64_t sem_otime;
} ____cacheline_aligned_in_smp;

/* struct sem_array */
struct cryo_sem_array {
	struct kern_ipc_perm sem_perm;
	time64_t sem_ctime;
	struct list_head pending_alter;
	struct list_head pending_const;
	struct list_head list_id;
	int sem_nsems;
	int complex_count;
	unsigned int use_global_lock;
	struct cryo_sem_one sems[];
};

/* struct sem_undo: its array is behind it since v6.12. */
struct cryo_undo {
	struct list_head list_proc;
	struct rcu_head rcu;
	void *ulp;
	struct list_head list_id;
	int semid;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	short semadj[];
#else
	short *semadj;
#endif
};

/* struct sem_undo_list, since v2.6.26 */
struct cryo_undo_list {
	refcount_t refcnt;
	spinlock_t lock;
	struct list_head list_proc;
};

/* Every process with threads has a list (CLONE_SYSVSEM), mostly empty. NULL: none. */
static inline struct cryo_undo_list *cryo_semundo(struct task_struct *task)
{
#ifdef CONFIG_SYSVIPC
	/* Else there are no sets in a job's namespace, or it is refused. */
	if (cryo_layout_fits(CRYO_LAYOUT_SYSV_SEM))
		return (struct cryo_undo_list *)task->sysvsem.undo_list;
#endif
	return NULL;
}

/* struct msg_queue; what follows is not looked at. */
struct cryo_msq {
	struct kern_ipc_perm q_perm;
	time64_t q_stime;
	time64_t q_rtime;
	time64_t q_ctime;
	unsigned long q_cbytes;
	unsigned long q_qnum;
	unsigned long q_qbytes;
	struct pid *q_lspid;
	struct pid *q_lrpid;
	struct list_head q_messages;
};

/* struct msg_msgseg */
struct cryo_msg_segment {
	struct cryo_msg_segment *next;
};

/* The text of a message: it begins behind the head, and goes on in segments of a page each. */
static inline void cryo_msg_copy(const struct msg_msg *msg, u8 *out)
{
	size_t len = min_t(size_t, msg->m_ts, PAGE_SIZE - sizeof(*msg)), left = msg->m_ts - len;
	const struct cryo_msg_segment *segment = (const void *)msg->next;

	memcpy(out, msg + 1, len);
	for (; left && segment; segment = segment->next) {
		out += len;
		len = min_t(size_t, left, PAGE_SIZE - sizeof(*segment));
		memcpy(out, segment + 1, len);
		left -= len;
	}
}

/*
 * The id that the next object of this kind gets if it is free; what sysctl kernel.shm_next_id sets.
 */
static inline bool cryo_ipc_set_next(struct ipc_ids *ids, int id)
{
#ifdef CONFIG_CHECKPOINT_RESTORE
	WRITE_ONCE(ids->next_id, id);
	return true;
#else
	return false;
#endif
}

/* As that shows it: -1, where none has been chosen. */
static inline int cryo_ipc_next(const struct ipc_ids *ids)
{
#ifdef CONFIG_CHECKPOINT_RESTORE
	return READ_ONCE(ids->next_id);
#else
	return -1;
#endif
}

/*
 * With ids->rwsem: the object with that id. It lies at the lower 15 bits of it, or 24 with
 * ipcmni_extend.
 */
static inline struct kern_ipc_perm *cryo_ipc_find(struct ipc_ids *ids, int id)
{
	struct kern_ipc_perm *perm = idr_find(&ids->ipcs_idr, id & 0x7fff);

	lockdep_assert_held(&ids->rwsem);
	if (!perm || perm->id != id)
		perm = idr_find(&ids->ipcs_idr, id & 0xffffff);
	return perm && perm->id == id ? perm : NULL;
}

#endif
