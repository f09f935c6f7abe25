// SPDX-License-Identifier: GPL-2.0-only
/*
 * members.c - the threads of a restart, from their CRYO_RST_RESUME until they go on or die
 *
 * Everything here runs in the threads themselves, first in the call, then in a task work on their
 * way to user mode, where they park. What a member has brought is given back by itself, whichever
 * way it goes: one that was killed leaves nothing with the handle but that it has come, and that it
 * is lost.
 */
#include <linux/cred.h>
#include <linux/fdtable.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/regset.h>
#include <linux/sched/jobctl.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <cryo/ioctl.h>

#include "client/client.h"
#include "compat/mm.h"
#include "cryo_arch.h"
#include "lib/args.h"
#include "lib/point.h"
#include "lib/sighand.h"
#include "lib/trace.h"
#include "lib/unload.h"
#include "lib/wait.h"
#include "restart/calls.h"
#include "restart/restart.h"
#include "syscalls/syscalls.h"

#define LEADER_EXIT_JIFFIES	(10 * HZ)
/* sets that the kernel has no regset for: a few words each */
#define OTHER_SET_BYTES		4096

static void member_free(struct cryo_rst_member *m)
{
	unsigned int i;

	for (i = 0; m->sets && i < m->args.nr_regsets; i++)
		kvfree((void *)(unsigned long)m->sets[i].data);
	kvfree(m->sets);
	cryo_tables_put(&m->tables);
	cryo_held_free(m->held);
	put_cred(m->creds);
	if (m->task)
		put_task_struct(m->task);
	kfree(m);
}

/* ---- parked ---- */

/*
 * A stop that the parent has been notified of, and has waited for, is not reported again: no signal
 * is sent, but the process is stopped, and each thread of it has to join that on its way to user
 * mode, as one that its tracer lets go (ptrace(2), PTRACE_DETACH). SIGCONT ends it as any other.
 */
static void begin_stop(const struct cryo_resume *args)
{
	struct signal_struct *sig = current->signal;
	struct task_struct *t;

	signal_set_stop_flags(sig, SIGNAL_STOP_STOPPED);
	sig->group_stop_count = 0;
	sig->group_exit_code = args->flags & CRYO_RESUME_STOP_WAITED ? 0 : args->signal;
	for_each_thread(current, t) {
		if (t->flags & PF_EXITING || fatal_signal_pending(t))
			continue;
		t->jobctl &= ~(JOBCTL_STOP_SIGMASK | JOBCTL_STOP_CONSUME);
		t->jobctl |= args->signal | JOBCTL_STOP_PENDING;
		set_tsk_thread_flag(t, TIF_SIGPENDING);
	}
}

static void note_what_is_told(const struct cryo_resume *args)
{
	struct sighand_struct *sighand = cryo_lock_sighand(current);
	struct signal_struct *sig = current->signal;

	if (!sighand)
		return;
	if (sig->flags & SIGNAL_GROUP_EXIT || sig->group_exec_task)
		goto unlock;
	if (args->flags & CRYO_RESUME_CONTINUED)
		signal_set_stop_flags(sig, SIGNAL_STOP_CONTINUED);
	if (args->flags & CRYO_RESUME_STOP_TOLD)
		begin_stop(args);
unlock:
	cryo_unlock_sighand(sighand);
}

/* What the leader does for the whole process once nothing of the restart's code runs any more. */
static int finish_process(struct cryo_rst_member *m, const char **what)
{
	const struct cryo_resume *args = &m->args;
	int err = 0;

	if (args->unmap_len) {
		*what = "unmapping the restart code";
		err = vm_munmap(args->unmap_start, args->unmap_len);
	}
	if (!err && args->exe_fd >= 0) {
		*what = "setting the executable link";
		err = cryo_restart_take_exe(m->group->creds, args->exe_fd);
		if (err == -EPERM)
			*what = "setting the executable link (see the module's parameter exe_link)";
		close_fd(args->exe_fd);
	}
	if (!err && args->close_fd >= 0) {
		*what = "closing the restart handle";
		err = close_fd(args->close_fd);
	}
	/*
	 * Not sooner: the restart code shares memory with cr_restart, which may be another user's.
	 */
	if (!err && args->flags & CRYO_RESUME_DUMPABLE)
		cryo_make_dumpable();
	if (!err && args->signal && !(args->flags & CRYO_RESUME_STOP_TOLD)) {
		*what = "sending its signal";
		/*
		 * Those that nobody can catch also reach the first process of a pid namespace,
		 * as they did when they came from outside of it.
		 */
		err = kill_pid(task_tgid(current), args->signal, sig_kernel_only(args->signal));
	}
	if (!err)
		note_what_is_told(args);
	return err;
}

/*
 * A process whose main thread had exited has another one that does its work here: wait until the
 * main thread is a zombie again, and no longer runs the code that is about to be unmapped.
 */
static int wait_leader_gone(const char **what)
{
	unsigned long limit = jiffies + LEADER_EXIT_JIFFIES;

	*what = "waiting for its main thread to exit";
	/* Its end wakes no waiter: it stays a zombie, and its process lives. */
	while (!thread_group_leader(current) && !READ_ONCE(current->group_leader->exit_state)) {
		if (time_after(jiffies, limit))
			return -ETIMEDOUT;
		cryo_sleep(1);
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return 0;
}

static void setup_process(struct cryo_rst_member *m)
{
	struct cryo_rst_group *g = m->group;
	const char *what = NULL;
	int err = wait_leader_gone(&what) ?: finish_process(m, &what);

	spin_lock(&g->state_lock);
	g->set_up++;
	if (err && !g->setup_error) {
		g->setup_error = err;
		g->setup_what = what;
		g->setup_pid = task_tgid_vnr(current);
	}
	spin_unlock(&g->state_lock);
	wake_up_all(&g->coordinator_wait);
}

static void set_masks(const struct cryo_resume *args)
{
	sigset_t mask, saved;

	BUILD_BUG_ON(sizeof(mask) != sizeof(args->sigmask));
	memcpy(&mask, &args->sigmask, sizeof(mask));
	memcpy(&saved, &args->saved_sigmask, sizeof(saved));
	/* Unlike the system call, the kernel's own function blocks these, too. */
	sigdelsetmask(&mask, sigmask(SIGKILL) | sigmask(SIGSTOP));
	sigdelsetmask(&saved, sigmask(SIGKILL) | sigmask(SIGSTOP));
	if (!(args->flags & CRYO_RESUME_RESTORE_SIGMASK)) {
		sigprocmask(SIG_SETMASK, &mask, NULL);
	} else if (cryo_arch_keeps_sigmask()) {
		sigprocmask(SIG_SETMASK, &mask, NULL);
		current->saved_sigmask = saved;
		set_restore_sigmask();
	} else {
		sigprocmask(SIG_SETMASK, &saved, NULL);
	}
}

static void become_member(struct cryo_rst_member *m, bool will_look)
{
	const struct cryo_resume *args = &m->args;

	cryo_tables_swap(&m->tables);
	cryo_tables_put(&m->tables);
	cryo_arch_resume_call(m->sets, args->nr_regsets, will_look);
	set_masks(args);
	if (args->death_signal)
		current->pdeath_signal = args->death_signal;
	cryo_restart_block_set(&args->restart);
}

static int wait_for(struct cryo_rst_group *g, enum cryo_rst_state state)
{
	return wait_event_state(g->go_wait, cryo_rst_state_of(g) >= state, CRYO_RST_PARKED_STATE);
}

/* The parked life of a thread. Non-zero: it must die. */
static int park_member(struct cryo_rst_member *m, bool will_look)
{
	struct cryo_rst_group *g = m->group;

	if (m->args.flags & CRYO_RESUME_LEADER) {
		if (wait_for(g, CRYO_RST_SETUP) || cryo_rst_state_of(g) == CRYO_RST_ABORTED)
			return -EINTR;
		cryo_point("leader");
		setup_process(m);
	}
	if (wait_for(g, CRYO_RST_GO) || cryo_rst_state_of(g) == CRYO_RST_ABORTED)
		return -EINTR;
	cryo_point("becoming");
	become_member(m, will_look);
	if (m->args.flags & CRYO_RESUME_LEADER)
		cryo_map_start();
	return 0;
}

static void note_parked(struct cryo_rst_member *m)
{
	struct cryo_rst_group *g = m->group;

	spin_lock(&g->state_lock);
	g->parked++;
	m->parked = true;
	spin_unlock(&g->state_lock);
	wake_up_all(&g->coordinator_wait);
}

/* It goes on, or is @lost: from here on nobody does anything to it. */
static void note_gone(struct cryo_rst_member *m, bool lost)
{
	struct cryo_rst_group *g = m->group;

	spin_lock(&g->state_lock);
	m->parked = false;
	g->lost |= lost;
	spin_unlock(&g->state_lock);
	wake_up_all(&g->coordinator_wait);
}

/*
 * Not killable, as nobody else takes it off the list, but with an end: who has the lock waits for
 * no member any more once one is lost, and for the memory of one a second at most
 * (lib/shadow_stack.c).
 */
static void member_leave(struct cryo_rst_member *m)
{
	struct cryo_rst_group *g = m->group;

	mutex_lock(&g->lock);
	list_del(&m->node);
	mutex_unlock(&g->lock);
	member_free(m);
	cryo_rst_put(g);
}

/* The task work: runs in the thread after CRYO_RST_RESUME, on its way to user mode. */
static void resume_member(struct callback_head *work)
{
	struct cryo_rst_member *m = container_of(work, struct cryo_rst_member, work);
	struct cryo_held *held = NULL;
	bool lost = current->flags & PF_EXITING;
	bool will_look;

	if (!lost) {
		will_look = cryo_arch_resume_begin();
		cryo_arch_begin_park();
		cryo_arch_stay_saved(current);
		note_parked(m);
		cryo_point("member");
		lost = park_member(m, will_look);
		if (lost)
			send_sig(SIGKILL, current, 1);
		else
			swap(held, m->held);
	}
	note_gone(m, lost);
	cryo_point("leaving");
	member_leave(m);
	if (held)
		cryo_held_start(held);
	else
		cryo_look_at_signals();
	cryo_unload_put();
}

/* ---- in the call ---- */

const struct user_regset *cryo_rst_regset(struct task_struct *task, unsigned int note)
{
	const struct user_regset_view *view = task_user_regset_view(task);
	unsigned int i;

	for (i = 0; i < view->n; i++)
		if (view->regsets[i].core_note_type == note)
			return &view->regsets[i];
	return NULL;
}

/*
 * No more is copied than there can be; whether the set is right is for the commit to say, in the
 * log.
 */
static size_t largest_regset(unsigned int note)
{
	const struct user_regset *regset = cryo_rst_regset(current, note);

	if (!regset)
		return OTHER_SET_BYTES;
	return (size_t)regset->n * regset->size + cryo_arch_regset_extension(note);
}

static int copy_regset(struct cryo_regset *set, size_t *left)
{
	void *data;

	if (!set->length || set->length > *left || set->length > largest_regset(set->note))
		return -EINVAL;
	data = cryo_copy_data(set->data, set->length);
	if (IS_ERR(data))
		return PTR_ERR(data);
	*left -= set->length;
	set->data = (unsigned long)data;
	return 0;
}

static int copy_regsets(struct cryo_rst_member *m)
{
	size_t left = CRYO_MAX_REGSET_BYTES;
	struct cryo_regset *sets;
	unsigned int n = m->args.nr_regsets;
	unsigned int i;
	int err = 0;

	/* What member_free() may free. */
	m->args.nr_regsets = 0;
	if (!n || n > CRYO_MAX_REGSETS)
		return -EINVAL;
	sets = cryo_copy_data(m->args.regsets, n * sizeof(*sets));
	if (IS_ERR(sets))
		return PTR_ERR(sets);
	m->sets = sets;
	for (i = 0; i < n; i++) {
		err = copy_regset(&sets[i], &left);
		if (err)
			break;
	}
	m->args.nr_regsets = i;
	return err;
}

static int copy_resume(struct cryo_rst_member *m, void __user *arg)
{
	int err;

	err = cryo_copy_args(&m->args, sizeof(m->args), offsetofend(struct cryo_resume, signal),
			     arg);
	if (err)
		return err;
	if (m->args.flags & CRYO_RESUME_STOP_TOLD &&
	    (m->args.signal <= 0 || m->args.signal > _NSIG || !sig_kernel_stop(m->args.signal)))
		return -EINVAL;
	if (m->args.flags & ~CRYO_RESUME_FLAGS || m->args.signal < 0 || m->args.signal > _NSIG ||
	    m->args.death_signal > _NSIG || m->args.files_of < 0 || m->args.fs_of < 0)
		return -EINVAL;
	return cryo_restart_block_check(&m->args.restart) ?: copy_regsets(m);
}

static int hold_later(struct cryo_rst_member *m)
{
	struct cryo_held *held;

	if (!(m->args.flags & CRYO_RESUME_HELD))
		return 0;
	held = cryo_held_alloc();
	if (IS_ERR(held))
		return PTR_ERR(held);
	m->held = held;
	return 0;
}

static struct cryo_rst_member *member_make(void __user *arg)
{
	struct cryo_rst_member *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	int err;

	if (!m)
		return ERR_PTR(-ENOMEM);
	m->creds = get_current_cred();
	m->task = get_task_struct(current);
	err = copy_resume(m, arg);
	if (!err)
		err = hold_later(m);
	if (!err)
		return m;
	/* The sets that have been copied, if any. */
	member_free(m);
	return ERR_PTR(err);
}

/*
 * Is there a place for @m in @g? From here on it has one, though it may be some time until it
 * parks.
 */
static int take_place(struct cryo_rst_group *g, struct cryo_rst_member *m)
{
	bool leader = m->args.flags & CRYO_RESUME_LEADER;
	int err = 0;

	if (mutex_lock_killable(&g->lock))
		return -EINTR;
	if (cryo_rst_state_of(g) > CRYO_RST_COMMITTING || g->joined == g->threads) {
		err = -EBUSY;
	} else if (leader && g->leaders == g->processes) {
		err = -EINVAL;
	} else {
		m->group = g;
		kref_get(&g->ref);
		list_add_tail(&m->node, &g->members);
		g->joined++;
		g->leaders += leader;
	}
	mutex_unlock(&g->lock);
	return err;
}

/* Nor this: before all have parked, who has the lock waits for nobody. */
static void give_place_back(struct cryo_rst_group *g, struct cryo_rst_member *m)
{
	mutex_lock(&g->lock);
	g->joined--;
	g->leaders -= !!(m->args.flags & CRYO_RESUME_LEADER);
	mutex_unlock(&g->lock);
	member_leave(m);
}

/* CRYO_RST_RESUME */
long cryo_rst_resume(struct cryo_rst_group *g, void __user *arg)
{
	struct cryo_rst_member *m = member_make(arg);
	int err;

	if (IS_ERR(m))
		return PTR_ERR(m);
	err = take_place(g, m);
	if (err) {
		member_free(m);
		return err;
	}
	cryo_point("joined");
	trace_cryo_restart_join(current, g->coordinator);
	/*
	 * Filters cannot be taken away: nothing but the thread's end keeps it from parking after
	 * this.
	 */
	err = cryo_install_seccomp(g, m);
	if (err) {
		give_place_back(g, m);
		return err;
	}
	cryo_arch_prepare_park(current);
	init_task_work(&m->work, resume_member);
	cryo_unload_get();
	/*
	 * Not TWA_SIGNAL: the kernel is to look at signals, and calls that they end, when it has
	 * got its registers.
	 */
	if (task_work_add(current, &m->work, TWA_RESUME)) {
		cryo_unload_put();
		give_place_back(g, m);
		return -ESRCH;
	}
	return 0;
}

/* Has a thread of the process of @task come already? */
bool cryo_rst_has_resumed(struct cryo_rst_group *g, struct task_struct *task)
{
	struct cryo_rst_member *m;

	lockdep_assert_held(&g->lock);
	list_for_each_entry(m, &g->members, node)
		if (same_thread_group(m->task, task))
			return true;
	return false;
}
