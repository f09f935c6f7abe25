// SPDX-License-Identifier: GPL-2.0-only
/*
 * state.c - the states of a restart handle, and who may call what in which of them
 *
 *	GATHER		threads come and park; processes that are being rebuilt use the handle
 *	COMMITTING	the coordinator waits for the last threads, and for calls that are under way
 *	REGISTERS	all are parked, and nobody comes any more: they are given their registers
 *	SETUP		the leader of each process finishes it
 *	TABLES		processes that share tables are given them
 *	GO		all go on: the handle has no members any more, and does nothing for anybody
 *	ABORTED		all die; the same
 *
 * One thread goes from state to state: the one whose CRYO_RST_COMMIT has found GATHER.  Others can
 * only give the restart up, until it is at GO.
 *
 *	call				who		state			else
 *	RESUME				user		GATHER, COMMITTING	EBUSY, also when all
 *										have arrived
 *	COMMIT				coordinator	GATHER			EPERM; EBUSY
 *	MAP_FILE			coordinator	GATHER			EPERM; EBUSY
 *	PID_CURSOR, OUTER_PID, PEER_PID,
 *	PORT, DATAGRAM, EPOLL_DISARM,
 *	INOTIFY_EVENT,
 *	EXIT_SIGNAL,
 *	TIMER, URING, mmap(), MAP	user		GATHER			EPERM; EBUSY
 *	SHADOW_STACK			user, not the	GATHER			EPERM, also when its
 *					coordinator				process has a thread
 *										that resumed; EBUSY
 *	STATUS, read()			anybody		all			-
 *	close() in the coordinator	-		until GO		ABORTED; afterwards
 *										nothing
 *
 *	coordinator	a thread of the process that made the handle
 *	user		has the user ids of the handle's maker and is in his user namespace; or the
 *			maker has CAP_SETUID in the user namespace of the caller: he could have
 *			become him, or have made the namespace. So root's restarts have members of
 *			all users, and jobs have user namespaces of their own; but who is root only
 *			in a namespace that he has made does nothing with who is outside of it.
 *
 * In one process several threads may call at once. What acts on its caller has begun in GATHER and
 * is counted, and the commit goes on when none is under way. A member is inside of its call until
 * it goes on or dies, so it executes no program and changes no credentials meanwhile; the other
 * threads of its process may, but exec(2) kills it first.
 */
#include <linux/bits.h>
#include <linux/capability.h>
#include <linux/sched/signal.h>
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/pid.h>

#include <cryo/ioctl.h>

#include "access/access.h"
#include "lib/trace.h"
#include "restart/calls.h"
#include "restart/restart.h"

/* lib/trace.h has their names. */
static_assert(CRYO_RST_GATHER == 0 && CRYO_RST_ABORTED == 6 && CRYO_RST_STATES == 7);

static const u8 may_follow[CRYO_RST_STATES] = {
	[CRYO_RST_GATHER] = BIT(CRYO_RST_COMMITTING) | BIT(CRYO_RST_ABORTED),
	[CRYO_RST_COMMITTING] = BIT(CRYO_RST_REGISTERS) | BIT(CRYO_RST_ABORTED),
	[CRYO_RST_REGISTERS] = BIT(CRYO_RST_SETUP) | BIT(CRYO_RST_ABORTED),
	[CRYO_RST_SETUP] = BIT(CRYO_RST_TABLES) | BIT(CRYO_RST_ABORTED),
	[CRYO_RST_TABLES] = BIT(CRYO_RST_GO) | BIT(CRYO_RST_ABORTED),
};

enum rst_caller {
	ANYBODY,
	COORDINATOR,
	USER,
};

#define ALWAYS	(BIT(CRYO_RST_STATES) - 1)

static const struct rst_call {
	unsigned int cmd;
	u8 who;
	u8 states;
	bool counted;		/* acts on its caller: over before members are touched */
} rst_calls[] = {
	{ CRYO_RST_RESUME, USER, BIT(CRYO_RST_GATHER) | BIT(CRYO_RST_COMMITTING) },
	{ CRYO_RST_COMMIT, COORDINATOR, BIT(CRYO_RST_GATHER) },
	{ CRYO_RST_STATUS, ANYBODY, ALWAYS },
	{ CRYO_RST_MAP_FILE, COORDINATOR, BIT(CRYO_RST_GATHER), true },
	{ CRYO_RST_MAP, USER, BIT(CRYO_RST_GATHER), true },
	{ CRYO_RST_PID_CURSOR, USER, BIT(CRYO_RST_GATHER), true },
	{ CRYO_RST_OUTER_PID, USER, BIT(CRYO_RST_GATHER), true },
	{ CRYO_RST_EXIT_SIGNAL, USER, BIT(CRYO_RST_GATHER), true },
	{ CRYO_RST_PEER_PID, USER, BIT(CRYO_RST_GATHER), true },
	{ CRYO_RST_PORT, USER, BIT(CRYO_RST_GATHER), true },
	{ CRYO_RST_DATAGRAM, USER, BIT(CRYO_RST_GATHER), true },
	{ CRYO_RST_INOTIFY_EVENT, USER, BIT(CRYO_RST_GATHER), true },
	{ CRYO_RST_EPOLL_DISARM, USER, BIT(CRYO_RST_GATHER), true },
	{ CRYO_RST_TIMER, USER, BIT(CRYO_RST_GATHER), true },
	{ CRYO_RST_URING, USER, BIT(CRYO_RST_GATHER), true },	/* and mmap() */
	{ CRYO_RST_SHADOW_STACK, USER, BIT(CRYO_RST_GATHER), true },
};

/* Why what is the case does not allow to go on to @to. */
static int check_transition(const struct cryo_rst_group *g, enum cryo_rst_state to)
{
	lockdep_assert_held(&g->state_lock);
	if (to == CRYO_RST_ABORTED || to == CRYO_RST_COMMITTING)
		return 0;
	if (g->lost)
		return -ESRCH;
	if (to == CRYO_RST_REGISTERS && (g->parked != g->threads || g->calls))
		return -ETIMEDOUT;
	if (to >= CRYO_RST_TABLES && g->set_up != g->processes)
		return -ETIMEDOUT;
	return to >= CRYO_RST_TABLES ? g->setup_error : 0;
}

/* -EBUSY: @to does not follow the state that it is in. */
int cryo_rst_enter(struct cryo_rst_group *g, enum cryo_rst_state to)
{
	int err = -EBUSY;

	spin_lock(&g->state_lock);
	if (may_follow[g->state] & BIT(to))
		err = check_transition(g, to);
	if (!err)
		WRITE_ONCE(g->state, to);
	spin_unlock(&g->state_lock);
	if (err)
		return err;
	trace_cryo_restart_state(g->coordinator, to);
	wake_up_all(&g->go_wait);
	wake_up_all(&g->coordinator_wait);
	return 0;
}

bool cryo_rst_is_coordinator(const struct cryo_rst_group *g)
{
	return task_tgid(current) == g->coordinator;
}

static bool is_user(const struct cryo_rst_group *g)
{
	const struct cred *own = current_cred(), *maker = g->creds;

	return (own->user_ns == maker->user_ns && uid_eq(own->uid, maker->euid) &&
		uid_eq(own->euid, maker->euid) && uid_eq(own->suid, maker->euid)) ||
	       cryo_maker_capable(maker, own->user_ns, CAP_SETUID);
}

static bool is_allowed(const struct cryo_rst_group *g, enum rst_caller who)
{
	switch (who) {
	case ANYBODY:
		return true;
	case COORDINATOR:
		return cryo_rst_is_coordinator(g);
	case USER:
		return is_user(g);
	}
	return false;
}

static const struct rst_call *find_rst_call(unsigned int cmd)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rst_calls); i++)
		if (rst_calls[i].cmd == cmd)
			return &rst_calls[i];
	return NULL;
}

/* May the caller call @cmd now? Then he has to say when it is over. */
int cryo_rst_begin_call(struct cryo_rst_group *g, unsigned int cmd)
{
	const struct rst_call *call = find_rst_call(cmd);
	int err = 0;

	if (!call)
		return -ENOTTY;
	if (!is_allowed(g, call->who))
		return -EPERM;
	spin_lock(&g->state_lock);
	if (!(call->states & BIT(g->state)))
		err = -EBUSY;
	else
		g->calls += call->counted;
	spin_unlock(&g->state_lock);
	return err;
}

void cryo_rst_end_call(struct cryo_rst_group *g, unsigned int cmd)
{
	if (!find_rst_call(cmd)->counted)
		return;
	spin_lock(&g->state_lock);
	g->calls--;
	spin_unlock(&g->state_lock);
	wake_up_all(&g->coordinator_wait);
}

bool cryo_is_being_restarted(struct file *file)
{
	return file->f_op == &cryo_rst_fops && cryo_rst_state_of(file->private_data) < CRYO_RST_GO;
}
