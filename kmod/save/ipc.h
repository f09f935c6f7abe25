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
int cryo_collect_shm(struct cryo_capture *c);
int cryo_save_shm(struct cryo_capture *c);

/* mqueue.c */
int cryo_collect_mqueues(struct cryo_capture *c);
bool cryo_is_mqueue(struct file *file);

/* sem.c */
int cryo_save_sems(struct cryo_capture *c);

/* msg.c */
int cryo_save_msgs(struct cryo_capture *c);

void cryo_ipc_spaces_init(struct cryo_capture *c);
void cryo_ipc_spaces_free(struct cryo_capture *c);
int cryo_ipc_note(struct cryo_capture *c, struct cryo_proc *p, u32 number);
long cryo_ipc_id(void __user *arg);

#endif /* CRYO_SAVE_IPC_H */
