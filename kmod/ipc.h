/* SPDX-License-Identifier: GPL-2.0-only */
/* ipc.h - what the savers of System V objects share (ipc.c) */
#ifndef CRYO_KMOD_IPC_H
#define CRYO_KMOD_IPC_H

#include "compat/ipc.h"
#include "cryo.h"

/* Of the requester, which is that of the scope. */
struct ipc_ids *cryo_ipc_ids(int kind);
bool cryo_pid_in_scope(struct cryo_capture *c, struct pid *pid);
bool cryo_ipc_readable(const struct kern_ipc_perm *perm);
void cryo_ipc_fill(struct cryo_ipc_perm *out, const struct kern_ipc_perm *perm, time64_t changed);

#endif
