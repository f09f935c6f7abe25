/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* format_ipc.h - the part of format.h about System V objects and POSIX message queues */
#ifndef _UAPI_CRYO_FORMAT_IPC_H
#define _UAPI_CRYO_FORMAT_IPC_H

#include <linux/types.h>

struct cryo_ipc_perm {
	__s32 id;
	__s32 key;
	__u32 uid, gid;
	__u32 cuid, cgid;		/* creator */
	__u32 mode;			/* permissions */
	__u32 ns;			/* ipc namespace, 0: the requester's */
	__s64 changed;			/* ctime, seconds */
};

#define CRYO_IPC_ELSEWHERE	(1U << 31)	/* in the object of a section: of another namespace than the requester's */

#define CRYO_SHM_DESTROYED	(1U << 0)	/* IPC_RMID: goes with the last who has it attached */
#define CRYO_SHM_MLOCKED	(1U << 1)	/* SHM_LOCK */

struct cryo_shm {
	struct cryo_ipc_perm perm;
	__u64 size;			/* bytes */
	__u32 flags;			/* CRYO_SHM_* */
	__u32 reserved;
};

struct cryo_sem_set {
	struct cryo_ipc_perm perm;
	__u32 count;			/* of semaphores */
	__u32 reserved;
};

struct cryo_sem_undo {
	__s32 id;			/* of the set */
	__u32 number;			/* of the semaphore */
	__s32 adjustment;		/* added when the process ends */
	__u32 reserved;
};

/* Tail: messages, each a struct cryo_message and its text, in the order of the queue. */
struct cryo_msg_queue {
	struct cryo_ipc_perm perm;
	__u64 bytes;			/* msg_qbytes */
	__u32 messages;
	__u32 reserved;
};

struct cryo_message {
	__s64 type;			/* of mqueues: priority */
	__u32 length;
	__u32 reserved;
};

struct cryo_mqueue {
	__u64 max_messages;
	__u64 message_size;
	__u64 notify_value;		/* sigev_value */
	__s32 notify_pid;		/* who asked to be told of the next message, 0: nobody in the context */
	__u32 notify;			/* SIGEV_SIGNAL or SIGEV_NONE */
	__u32 notify_signal;
	__u32 messages;
	__u32 ns;			/* ipc namespace, 0: the requester's */
	__u32 reserved;
};

#endif /* _UAPI_CRYO_FORMAT_IPC_H */
