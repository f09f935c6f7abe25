/* SPDX-License-Identifier: GPL-2.0-only */
/* sysv.h - what the savers of System V objects share (sysv.c) */
#ifndef CRYO_KMOD_IPC_H
#define CRYO_KMOD_IPC_H

#include "capture/capture.h"
#include "compat/ipc.h"

struct cryo_ipc_perm;

/* An ipc namespace of the job: all that is in it, if it is not the requester's. */
static inline struct ipc_ids *cryo_ipc_ids(const struct cryo_ipc_space *space, int kind)
{
	return &space->ns->ids[kind];
}

struct cryo_ipc_space *cryo_ipc_space_of(struct cryo_capture *c, const struct ipc_namespace *ns);
struct cryo_proc *cryo_ipc_holder(struct cryo_capture *c);
u32 cryo_ipc_object(struct cryo_capture *c, const struct cryo_ipc_space *space, int id);
int cryo_each_ipc_object(struct cryo_capture *c, int kind,
			 int (*look)(struct cryo_capture *c, struct cryo_ipc_space *space,
				     struct kern_ipc_perm *perm));
bool cryo_pid_in_scope(struct cryo_capture *c, struct pid *pid);
bool cryo_ipc_user_in_scope(struct cryo_capture *c, struct pid *const *user, spinlock_t *lock);
bool cryo_ipc_readable(const struct cryo_ipc_space *space, const struct kern_ipc_perm *perm);
void cryo_ipc_fill(const struct cryo_ipc_space *space, struct cryo_ipc_perm *out,
		   const struct kern_ipc_perm *perm, time64_t changed);

#endif
