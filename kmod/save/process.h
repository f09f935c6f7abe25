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
	struct cryo_proc *top;		/* see save/process/sharing.c; NULL: not looked for */
	bool told;			/* has been refused: a process that is left out has it */
};

/* process.c */
int cryo_save_zombie(struct cryo_capture *c, struct cryo_proc *p);

/* fs.c: working and root directories */
int cryo_find_directories(struct cryo_capture *c, struct cryo_proc *p);
void cryo_check_thread_fs(struct cryo_capture *c, struct cryo_parked *t);
int cryo_check_directories(struct cryo_capture *c, struct cryo_proc *p);

/* tables.c */
bool cryo_has_table_of_other(struct cryo_capture *c, struct cryo_proc *p);

/* sharing.c */
bool cryo_proc_is_saved(struct cryo_proc *p);
/*
 * Those of the context that have the same as @task, who may be anybody: the first of them. NULL:
 * there is none.
 */
bool cryo_is_only_sharer(struct cryo_capture *c, enum cryo_shared what, struct cryo_proc *p);
struct cryo_sharer *cryo_sharers_with(struct cryo_capture *c, enum cryo_shared what,
				      struct task_struct *task);
void cryo_sharers_leave_memory(struct cryo_capture *c, struct cryo_sharer *first);
int cryo_find_sharers(struct cryo_capture *c);
struct cryo_proc *cryo_first_sharer(struct cryo_capture *c, struct cryo_proc *p,
				    enum cryo_shared what);
void cryo_check_sharing(struct cryo_capture *c, struct cryo_proc *p);

/* outsiders.c: what processes of the context have in common with those that are left out */
int cryo_check_outsiders(struct cryo_capture *c);

/* thread.c */
int cryo_save_exited_leader(struct cryo_capture *c, struct cryo_proc *p);

/* seccomp.c */
void cryo_check_seccomp(struct cryo_capture *c, struct cryo_proc *p, struct task_struct *task);

/* cgroup.c: control groups of the unified hierarchy */
int cryo_save_cgroups(struct cryo_capture *c);

#endif /* CRYO_SAVE_PROCESS_H */
