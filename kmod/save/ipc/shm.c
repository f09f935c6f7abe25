// SPDX-License-Identifier: GPL-2.0-only
/* shm.c - System V shared memory; its contents are saved as those of other shared memory */
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/rwsem.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "save/ipc.h"
#include "save/ipc/sysv.h"

static int collect_one(struct cryo_capture *c, struct cryo_ipc_space *space,
		       struct kern_ipc_perm *perm)
{
	const struct cryo_shmid *shm = container_of(perm, struct cryo_shmid, shm_perm);
	struct cryo_object *o;

	if (cryo_object_find(c, file_inode(shm->shm_file)) ||
	    (!space->number && !cryo_pid_in_scope(c, shm->shm_cprid)))
		return 0;
	if (!cryo_ipc_readable(space, &shm->shm_perm)) {
		if (space->number) {
			cryo_refuse(c, cryo_ipc_holder(c), "System V shared memory %d in its ipc namespace: you may not read it",
				    shm->shm_perm.id);
			return 0;
		}
		cryo_warn(c, cryo_ipc_holder(c), "System V shared memory %d: created by the process, which you may not read: left out",
			  shm->shm_perm.id);
		return 0;
	}
	o = cryo_object_file(c, cryo_ipc_holder(c), shm->shm_file);
	return o ? 0 : -ENOMEM;
}

int cryo_collect_shm(struct cryo_capture *c)
{
	return cryo_each_ipc_object(c, CRYO_IPC_SHM, collect_one);
}

static int save_segment(struct cryo_capture *c, struct cryo_ipc_space *space,
			struct kern_ipc_perm *perm)
{
	const struct cryo_shmid *shm = container_of(perm, struct cryo_shmid, shm_perm);
	struct cryo_object *inode = cryo_object_find(c, file_inode(shm->shm_file));
	struct cryo_shm out = { .size = shm->shm_segsz };
	unsigned long attached;

	if (!inode)
		return 0;
	cryo_ipc_fill(space, &out.perm, &shm->shm_perm, shm->shm_ctim);
	if (shm->shm_perm.mode & CRYO_SHM_DEST)
		out.flags |= CRYO_SHM_DESTROYED;
	if (shm->shm_perm.mode & CRYO_SHM_LOCKED)
		out.flags |= CRYO_SHM_MLOCKED;
	attached = READ_ONCE(shm->shm_nattch);
	if (attached > inode->attached)
		cryo_refuse(c, cryo_ipc_holder(c), "System V shared memory %d (key %#x): is attached %lu times outside of the checkpoint",
			    out.perm.id, out.perm.key, attached - inode->attached);
	return cryo_stream_section(&c->stream, CRYO_SEC_SHM, inode->id, sizeof(out), &out,
				   sizeof(out));
}

int cryo_save_shm(struct cryo_capture *c)
{
	return cryo_each_ipc_object(c, CRYO_IPC_SHM, save_segment);
}
