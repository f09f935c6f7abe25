/* SPDX-License-Identifier: GPL-2.0-only */
/* process.h - what belongs to a process or a thread */
#ifndef CRYO_SAVE_PROCESS_H
#define CRYO_SAVE_PROCESS_H

#include <linux/types.h>

struct cryo_capture;
struct cryo_parked;
struct cryo_proc;
struct task_struct;
struct xarray;

enum cryo_shared {
	CRYO_SHARED_MM,
	CRYO_SHARED_SIGHAND,
	CRYO_SHARED_FILES,
	CRYO_SHARED_FS,
	CRYO_SHARED_UNDO,
	CRYO_NR_SHARED
};

#define CRYO_UNDO_SHARED	\
	"System V semaphore adjustments (SEM_UNDO) shared with another process (CLONE_SYSVSEM) are not supported"

/* A process that has what others may have, too. */
struct cryo_sharer {
	const void *key;		/* identity only */
	u32 order;			/* of the process in the scope */
	struct cryo_proc *proc;
	/* Of the first one that has it. */
	struct cryo_proc *top;		/* see save/process/sharing.c; NULL: not searched for */
	bool told;			/* has been refused: an outsider has it */
};

/* process.c */

/**
 * cryo_save_zombie() - add CRYO_SEC_PROCESS and the credentials of a process that has exited
 * @c: the capture
 * @p: the process, a zombie; also the stand-in of the requester
 *
 * Context: In the requester. May sleep.
 *
 * Return: 0; -ENOMEM, -E2BIG or -EFBIG.
 */
int cryo_save_zombie(struct cryo_capture *c, struct cryo_proc *p);

/* fs.c: working and root directories */
int cryo_find_directories(struct cryo_capture *c, struct cryo_proc *p);
void cryo_check_thread_fs(struct cryo_capture *c, struct cryo_parked *t);

/**
 * cryo_check_directories() - refuse working and root directories that a restart could not find
 * @c: the capture
 * @p: the process, parked; a zombie has none
 *
 * Context: In the requester, when all processes have been collected, and so all mount namespaces of
 * the job are known. May sleep.
 *
 * Return: 0 or an error of cryo_capture_interrupted(); an obstacle is no error, see cryo_refuse().
 */
int cryo_check_directories(struct cryo_capture *c, struct cryo_proc *p);

/* tables.c */
bool cryo_has_table_of_other(struct cryo_capture *c, struct cryo_proc *p);

/* sharing.c */
bool cryo_proc_is_saved(struct cryo_proc *p);
bool cryo_is_only_sharer(struct cryo_capture *c, enum cryo_shared what, struct cryo_proc *p);
/*
 * The first process of the context that has the same as @task, which may be any task; NULL: there
 * is none.
 */
struct cryo_sharer *cryo_sharers_with(struct cryo_capture *c, enum cryo_shared what,
				      struct task_struct *task);
void cryo_sharers_leave_memory(struct cryo_capture *c, struct cryo_sharer *first);

/**
 * cryo_find_sharers() - note which processes have which memory, signal handlers, descriptors,
 *	directories and semaphore adjustments
 * @c: the capture; its @sharers are filled, and are freed with it
 *
 * Context: In the requester, before processes are collected. May sleep.
 *
 * Return: 0; -ENOMEM or -EFBIG; or an error of cryo_capture_interrupted().
 */
int cryo_find_sharers(struct cryo_capture *c);

struct cryo_proc *cryo_first_sharer(struct cryo_capture *c, struct cryo_proc *p,
				    enum cryo_shared what);
void cryo_check_sharing(struct cryo_capture *c, struct cryo_proc *p);

/* outsiders.c: what processes of the context have in common with those that are left out */

/**
 * cryo_check_outsiders() - find processes outside of the scope that share something with one in it
 * @c: the capture
 *
 * Refuses what cannot be shared with an outsider, and warns of children that are left out. All
 * tasks of the machine are examined, but for a tree of which the reference counts show that nothing
 * is shared.
 *
 * Context: In the requester, after cryo_find_sharers(). May sleep.
 *
 * Return: 0 or an error of cryo_capture_interrupted(); an obstacle is no error, see cryo_refuse().
 */
int cryo_check_outsiders(struct cryo_capture *c);

/* thread.c */
int cryo_save_exited_leader(struct cryo_capture *c, struct cryo_proc *p);

/* seccomp.c */
void cryo_check_seccomp(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task);

/* cgroup.c: control groups of the unified hierarchy */

/**
 * cryo_save_cgroups() - add the control groups that the job has to itself
 * @c: the capture
 *
 * CRYO_SEC_CGROUP_DIR and CRYO_SEC_CGROUP_SETTING, of the unified hierarchy.
 *
 * Context: In the requester, when all processes have been described. May sleep.
 *
 * Return: 0; an error of cryo_capture_interrupted(); -ENOMEM; or another negative errno: of the
 * stream, or of reading the files of a group.
 */
int cryo_save_cgroups(struct cryo_capture *c);

#endif /* CRYO_SAVE_PROCESS_H */
