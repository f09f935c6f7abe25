// SPDX-License-Identifier: GPL-2.0-only
/*
 * commit.c - what the coordinator of a restart does when all of its threads are to go on
 *
 * A task cannot set its own registers, nor take another's tables. All of this is done by the one
 * thread that has taken the handle out of GATHER, to members that are parked and that say so under
 * the group's lock.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/pid.h>
#include <linux/regset.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include <cryo/ioctl.h>

#include "access/access.h"
#include "client/client.h"
#include "compat/ksym.h"
#include "cryo_arch.h"
#include "lib/args.h"
#include "lib/point.h"
#include "lib/wait.h"
#include "restart/restart.h"

#define COMMIT_DEFAULT_MS	60000
/* that a thread takes at most from saying that it is parked until it sleeps */
#define BLOCK_MS		60000
#define SETUP_MS		60000
#define BLOCK_POLL_NS		20000
#define BLOCK_POLL_MAX_NS	1000000

static bool has_ended_early(struct cryo_rst_group *g)
{
	return READ_ONCE(g->lost) || cryo_rst_state_of(g) == CRYO_RST_ABORTED;
}

/*
 * By the commit. -EBUSY would be about this call: what keeps a commit from going on is that it was
 * given up.
 */
static int commit_enter(struct cryo_rst_group *g, enum cryo_rst_state to)
{
	int err = cryo_rst_enter(g, to);

	return err == -EBUSY ? -ESRCH : err;
}

/* ---- registers ---- */

static int set_by_kernel(struct task_struct *task, const struct cryo_regset *set)
{
	const struct user_regset *regset = cryo_rst_regset(task, set->note);
	size_t extension = cryo_arch_regset_extension(set->note);
	size_t length = set->length - extension;

	if (!regset || !regset->set || set->length <= extension || length % regset->size ||
	    length > regset->n * regset->size)
		return -EINVAL;
	return regset->set(task, regset, 0, length, (void *)(unsigned long)set->data, NULL) ?:
		cryo_arch_regset_was_set(task, set);
}

static int set_regset(struct cryo_rst_group *g, struct cryo_rst_member *m,
		      const struct cryo_regset *set)
{
	int err = -EINVAL;

	if (cryo_arch_want_regset(set->note)) {
		err = cryo_arch_set_regset(m->task, set);
		if (err == -ENOENT)
			err = set_by_kernel(m->task, set);
	}
	if (err)
		cryo_log(&g->log, "thread %d: cannot restore register set 0x%x (%u bytes): %pe",
			 task_pid_vnr(m->task), set->note, set->length, ERR_PTR(err));
	return err;
}

/* Not yet, or for a moment not: nothing tells when it does. */
static void pause_until_blocked(u64 ns)
{
	ktime_t pause = ns_to_ktime(ns);

	set_current_state(CRYO_RST_PARKED_STATE);
	schedule_hrtimeout(&pause, HRTIMER_MODE_REL);
}

/* Waits for @m to block. What tells whether it ran again, in @switches. */
static int wait_blocked(struct cryo_rst_member *m, unsigned long *switches)
{
	unsigned long limit = jiffies + msecs_to_jiffies(BLOCK_MS);
	u64 pause = BLOCK_POLL_NS;

	for (;;) {
		if (has_ended_early(m->group) || !READ_ONCE(m->parked))
			return -ESRCH;
		*switches = cryo_wait_task_inactive(m->task, CRYO_RST_PARKED_STATE);
		if (*switches)
			return 0;
		if (fatal_signal_pending(current))
			return -EINTR;
		if (time_after(jiffies, limit))
			return -ETIMEDOUT;
		pause_until_blocked(pause);
		pause = min_t(u64, 2 * pause, BLOCK_POLL_MAX_NS);
	}
}

/*
 * A thread that is off its CPU may come back at any time, preempted on its way to sleep or
 * woken for no reason; and what a CPU keeps to itself while in the kernel (segment bases,
 * protection keys) it then takes from the old values and saves over the new ones.  So it
 * is asked afterwards whether the thread has stayed away.
 */
static int set_member_registers(struct cryo_rst_group *g, struct cryo_rst_member *m)
{
	unsigned long switches;
	unsigned int i;
	int err;

	lockdep_assert_held(&g->lock);
	/* It has been in its call all the time: it can have no others. */
	if (rcu_access_pointer(m->task->real_cred) != m->creds)
		return -EPERM;
	do {
		err = wait_blocked(m, &switches);
		for (i = 0; i < m->args.nr_regsets && !err; i++)
			err = set_regset(g, m, &m->sets[i]);
		if (err)
			return err;
	} while (cryo_wait_task_inactive(m->task, CRYO_RST_PARKED_STATE) != switches);
	return 0;
}

static int set_registers(struct cryo_rst_group *g)
{
	struct cryo_rst_member *m;
	int err = 0;

	if (mutex_lock_killable(&g->lock))
		return -EINTR;
	list_for_each_entry(m, &g->members, node) {
		err = set_member_registers(g, m);
		if (err)
			break;
		cond_resched();
	}
	mutex_unlock(&g->lock);
	return err;
}

/* ---- tables: share_tables.c ---- */

static int get_tables(struct cryo_rst_group *g)
{
	int err = commit_enter(g, CRYO_RST_TABLES);

	if (err)
		return err;
	if (mutex_lock_killable(&g->lock))
		return -EINTR;
	err = cryo_rst_get_tables(g);
	mutex_unlock(&g->lock);
	return err;
}

/* ---- from state to state ---- */

/* As with a freeze: those that have come wait for those that have not. */
static unsigned int bound_gather(struct cryo_rst_group *g, unsigned int timeout_ms)
{
	if (!timeout_ms)
		return COMMIT_DEFAULT_MS;
	if (timeout_ms <= CRYO_COMMIT_MAX_MS || capable(CAP_SYS_ADMIN))
		return timeout_ms;
	cryo_log(&g->log,
		 "the threads are given at most %u s to arrive: more requires CAP_SYS_ADMIN",
		 CRYO_COMMIT_MAX_MS / 1000);
	return CRYO_COMMIT_MAX_MS;
}

static bool all_parked(struct cryo_rst_group *g)
{
	return (READ_ONCE(g->parked) == g->threads && !READ_ONCE(g->calls)) || has_ended_early(g);
}

static int wait_all(struct cryo_rst_group *g, unsigned int timeout_ms)
{
	long left = cryo_wait_event_timeout(g->coordinator_wait, all_parked(g),
					    msecs_to_jiffies(timeout_ms));

	if (left < 0)
		return -EINTR;
	if (has_ended_early(g))
		return -ESRCH;
	if (!left && READ_ONCE(g->parked) == g->threads)
		cryo_log(&g->log, "a call of the restart handle was still under way after %u ms",
			 timeout_ms);
	else if (!left)
		cryo_log(&g->log, "only %u of %u threads arrived within %u ms", g->parked,
			 g->threads, timeout_ms);
	if (!left)
		return -ETIMEDOUT;
	/* All have come: nobody changes it any more. */
	if (g->leaders != g->processes)
		return -EINVAL;
	return commit_enter(g, CRYO_RST_REGISTERS);
}

static bool is_set_up(struct cryo_rst_group *g)
{
	return READ_ONCE(g->set_up) == g->processes || READ_ONCE(g->setup_error) ||
	       has_ended_early(g);
}

static int wait_setup(struct cryo_rst_group *g)
{
	long left;
	int err;

	err = commit_enter(g, CRYO_RST_SETUP);
	if (err)
		return err;
	left = cryo_wait_event_timeout(g->coordinator_wait, is_set_up(g),
				       msecs_to_jiffies(SETUP_MS));
	if (left < 0)
		return -EINTR;
	if (has_ended_early(g))
		return -ESRCH;
	if (!left) {
		cryo_log(&g->log, "only %u of %u processes were finished within %u ms",
			 READ_ONCE(g->set_up), g->processes, SETUP_MS);
		return -ETIMEDOUT;
	}
	if (g->setup_error)
		cryo_log(&g->log, "pid %d: %s failed: %pe", g->setup_pid, g->setup_what,
			 ERR_PTR(g->setup_error));
	return g->setup_error;
}

/*
 * Where threads are held, the process sends it itself when they go on: whether the caller may
 * signal it is asked now.
 */
static int signal_process(struct pid *tgid, int signal)
{
	int err = kill_pid(tgid, 0, 0);

	if (!err && cryo_held_signal(tgid, signal))
		return 0;
	/* Which may be more than the other: SIGCONT within a session. */
	return kill_pid(tgid, signal, 0);
}

static int signal_all(struct cryo_rst_group *g, int signal)
{
	struct cryo_rst_member *m;
	int err = 0;

	if (mutex_lock_killable(&g->lock))
		return -EINTR;
	list_for_each_entry(m, &g->members, node)
		if (m->args.flags & CRYO_RESUME_LEADER)
			err = signal_process(task_tgid(m->task), signal) ?: err;
	mutex_unlock(&g->lock);
	return err;
}

static int commit_group(struct cryo_rst_group *g, const struct cryo_commit *args)
{
	int err;

	cryo_point("committing");
	err = wait_all(g, bound_gather(g, args->timeout_ms));
	cryo_point("gathered");
	if (!err)
		err = set_registers(g);
	cryo_point("registers");
	if (!err)
		err = wait_setup(g);
	cryo_point("set-up");
	if (!err)
		err = get_tables(g);
	if (!err && args->signal)
		err = signal_all(g, args->signal);
	cryo_point("before-go");
	/* As when it is killed earlier: nobody goes on whom nobody restarts. */
	if (!err && fatal_signal_pending(current))
		err = -EINTR;
	if (!err)
		err = commit_enter(g, CRYO_RST_GO);
	cryo_point("after-go");
	return err;
}

/* CRYO_RST_COMMIT */
long cryo_rst_commit(struct cryo_rst_group *g, void __user *arg)
{
	struct cryo_commit args;
	int err;

	err = cryo_copy_args(&args, sizeof(args), offsetofend(struct cryo_commit, signal), arg);
	if (err)
		return err;
	if (args.flags & ~CRYO_COMMIT_FLAGS || args.signal < 0 || args.signal > _NSIG)
		return -EINVAL;
	/* Of several threads that call, one gets beyond this. */
	err = cryo_rst_enter(g, CRYO_RST_COMMITTING);
	if (err)
		return err;
	err = commit_group(g, &args);
	if (err)
		cryo_rst_enter(g, CRYO_RST_ABORTED);
	return err;
}
