/* SPDX-License-Identifier: GPL-2.0-only */
/* ipc.h - System V objects and POSIX message queues */
#ifndef CRYO_SAVE_IPC_H
#define CRYO_SAVE_IPC_H

#include <linux/types.h>

struct cryo_capture;
struct cryo_object;
struct cryo_proc;
struct file;

/* posix_shm.c: shared memory and semaphores of shm_open(3) and sem_open(3) */
int cryo_is_posix_shm(struct file *file);
int cryo_is_shm_descriptor(struct file *file);
char *cryo_posix_shm_name(struct file *file, char *buf, size_t size);

/* shm.c */

/**
 * cryo_collect_shm() - note System V shared memory of the job that no process in the scope has
 *	attached
 * @c: the capture
 *
 * Of the requester's namespace, segments that a process in the scope has created; of the job's own
 * ones, all.
 *
 * Context: In the requester, when all processes have been collected. May sleep.
 *
 * Return: 0; -ENOMEM; or an error of cryo_capture_interrupted(); an obstacle is no error.
 */
int cryo_collect_shm(struct cryo_capture *c);

/**
 * cryo_save_shm() - add CRYO_SEC_SHM of each segment of System V shared memory of the job
 * @c: the capture
 *
 * Context: In the requester, after cryo_save_inodes() and cryo_save_files(). May sleep.
 *
 * Return: 0; an error of cryo_capture_interrupted(); -ENOMEM or -E2BIG; an obstacle is no error.
 */
int cryo_save_shm(struct cryo_capture *c);

/* mqueue.c */

/**
 * cryo_collect_mqueues() - note the POSIX message queues of the job's own ipc namespaces, as open
 *	files
 * @c: the capture
 *
 * Context: In the requester, when all processes have been collected. May sleep.
 *
 * Return: 0; -ENOMEM; -EIO: it is no message queue; or a negative errno of opening one or the
 * directory; an obstacle is no error.
 */
int cryo_collect_mqueues(struct cryo_capture *c);

bool cryo_is_mqueue(struct file *file);

/* sem.c */

/**
 * cryo_save_sems() - add CRYO_SEC_SEM of each set of System V semaphores of the job
 * @c: the capture
 *
 * Of the requester's namespace, sets that a process in the scope uses, or would undo something of;
 * of the job's own ones, all.
 *
 * Context: In the requester, before processes are described. May sleep.
 *
 * Return: 0; an error of cryo_capture_interrupted(); -ENOMEM, -E2BIG or -EFBIG; an obstacle is no
 * error.
 */
int cryo_save_sems(struct cryo_capture *c);

/* msg.c */

/**
 * cryo_save_msgs() - add CRYO_SEC_MSG of each System V message queue of the job
 * @c: the capture
 *
 * Context: In the requester. May sleep.
 *
 * Return: 0; an error of cryo_capture_interrupted(); -ENOMEM, -E2BIG or -EFBIG; an obstacle is no
 * error.
 */
int cryo_save_msgs(struct cryo_capture *c);

/**
 * cryo_ipc_spaces_init() - begin with the requester's ipc namespace as the only one
 * @c: the capture, new
 *
 * Context: In the requester.
 */
void cryo_ipc_spaces_init(struct cryo_capture *c);

/**
 * cryo_ipc_spaces_free() - free the ipc namespaces of a capture
 * @c: the capture, which is not used after that but to be freed
 *
 * Context: In the requester. May sleep.
 */
void cryo_ipc_spaces_free(struct cryo_capture *c);

int cryo_ipc_note(struct cryo_capture *c, struct cryo_proc *p, u32 number);

/**
 * cryo_ipc_id() - CRYO_IOC_IPC_ID: choose the id of the next System V object in the caller's ipc
 *	namespace
 * @arg: the argument of that call, a struct cryo_ipc_id
 *
 * Context: In the caller. Sleeps: until its turn (cryo_turn_begin()), and for the lock of the ids.
 *
 * Return: 0; -EPERM: switched off, and no CAP_CHECKPOINT_RESTORE; -EINVAL; -EEXIST: the id is
 * taken; -EOPNOTSUPP: the kernel is built without; -EINTR: killed; or an error of cryo_copy_args().
 */
long cryo_ipc_id(void __user *arg);

#endif /* CRYO_SAVE_IPC_H */
