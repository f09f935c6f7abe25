/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * restart.h - what the parts of a restart have in common: the handle's group, its state, and its
 * members
 *
 *	restart.c		the handle itself
 *	state.c		which states there are, and who may call what in which
 *	members.c	what the threads that are restarted do
 *	commit.c	what the coordinator does to them
 *	share_tables.c		of these: whose tables they get
 */
#ifndef CRYO_RESTART_H
#define CRYO_RESTART_H

#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/task_work.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "lazy/map.h"
#include "lib/log.h"
#include "restart/take_tables.h"

struct cryo_held;
struct cryo_regset;

#define CRYO_RST_PARKED_STATE	(TASK_KILLABLE | TASK_FREEZABLE)

/* In the order in which they come. What each of them is, and what it allows: state.c. */
enum cryo_rst_state {
	CRYO_RST_GATHER,
	CRYO_RST_COMMITTING,
	CRYO_RST_REGISTERS,
	CRYO_RST_SETUP,
	CRYO_RST_TABLES,
	CRYO_RST_GO,
	CRYO_RST_ABORTED,
	CRYO_RST_STATES
};

/* Of a thread, from its CRYO_RST_RESUME until it goes on or dies; it frees it itself. */
struct cryo_rst_member {
	struct callback_head work;
	struct list_head node;		/* under group.lock */
	struct cryo_rst_group *group;	/* counted */
	struct task_struct *task;	/* counted */
	const struct cred *creds;	/* that it has resumed with */
	struct cryo_resume args;
	struct cryo_regset *sets;	/* args.nr_regsets; data are kernel addresses */
	struct cryo_tables tables;	/* that it takes from another process at the end */
	struct cryo_held *held;		/* until callbacks are through; NULL: it goes on at once */
	unsigned int in_process;	/* members of the process, with it; see share_tables.c */
	bool all_members;		/* the process has no other threads */
	bool parked;			/* under group.state_lock */
};

/* Of a thread whose seccomp filters others share. */
struct cryo_rst_filters {
	/* that has them, counted; NULL: not yet. Set once, under group.state_lock */
	struct task_struct *task;
	unsigned int total;		/* of its own, when @task is there */
	wait_queue_head_t wait;		/* those that share them */
};

struct cryo_rst_group {
	struct kref ref;
	struct pid *coordinator;	/* thread group that made the group */
	const struct cred *creds;	/* its credentials then */
	fl_owner_t table;		/* its descriptor table: compared, never followed */
	unsigned int threads;
	unsigned int processes;
	struct cryo_map_files map_files;	/* see map_calls.c */

	/* The list of members: held while it is changed, and while anything is done to them. */
	struct mutex lock;
	struct list_head members;
	unsigned int joined;		/* also those that have died since */
	unsigned int leaders;		/* of these, leaders of their process */
	/* struct cryo_rst_filters: see install_seccomp.c; has a lock of its own */
	struct xarray filters;
	atomic_t nr_filters;		/* of these, and attempts; bounded */

	spinlock_t state_lock;		/* protects all below */
	enum cryo_rst_state state;
	unsigned int calls;		/* under way, of those that act on their callers */
	unsigned int parked;
	bool lost;			/* a thread that had joined is dying */
	unsigned int set_up;		/* processes that their leaders have finished */
	int setup_error;		/* the first one, in the process ... */
	pid_t setup_pid;
	const char *setup_what;
	wait_queue_head_t coordinator_wait;
	wait_queue_head_t go_wait;
	struct cryo_log log;
};

/* state.c */
static inline enum cryo_rst_state cryo_rst_state_of(const struct cryo_rst_group *g)
{
	return READ_ONCE(g->state);
}

int cryo_rst_enter(struct cryo_rst_group *g, enum cryo_rst_state to);
int cryo_rst_begin_call(struct cryo_rst_group *g, unsigned int cmd);
void cryo_rst_end_call(struct cryo_rst_group *g, unsigned int cmd);
bool cryo_rst_is_coordinator(const struct cryo_rst_group *g);

/* members.c */
long cryo_rst_resume(struct cryo_rst_group *g, void __user *arg);
bool cryo_rst_has_resumed(struct cryo_rst_group *g, struct task_struct *task);
const struct user_regset *cryo_rst_regset(struct task_struct *task, unsigned int note);

/* install_seccomp.c */
int cryo_install_seccomp(struct cryo_rst_group *g, struct cryo_rst_member *m);
void cryo_rst_free_filters(struct cryo_rst_group *g);

/* share_tables.c */
int cryo_rst_get_tables(struct cryo_rst_group *g);

/* commit.c */
long cryo_rst_commit(struct cryo_rst_group *g, void __user *arg);

/* restart.c */
void cryo_rst_put(struct cryo_rst_group *g);

/* shadow_stack.c */
long cryo_restart_shadow_stack(struct cryo_rst_group *g, void __user *arg);

/* restart.c: of handles, by which they are known. */
extern const struct file_operations cryo_rst_fops;

#endif /* CRYO_RESTART_H */
