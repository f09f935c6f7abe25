// SPDX-License-Identifier: GPL-2.0-only
/*
 * install_seccomp.c - seccomp of a thread being restarted
 *
 * What is installed counts from the next system call on, so it has to come after
 * the last one that the restart makes: inside CRYO_RST_RESUME.  Set earlier, a
 * filter could forbid that call, or kill the thread for it.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/seccomp.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include <cryo/ioctl.h>

#include "access/access.h"
#include "compat/ksym.h"
#include "compat/layouts.h"
#include "compat/seccomp.h"
#include "cryo_arch.h"
#include "lib/log.h"
#include "lib/sighand.h"
#include "restart/restart.h"

static int call_seccomp(unsigned int op, unsigned int flags, u64 program)
{
	if (!cryo_fn_seccomp)
		return -EOPNOTSUPP;
	return cryo_arch_syscall3(cryo_fn_seccomp, op, flags, program);
}

/*
 * Filters cannot be taken away. If some are there when another one is refused, the thread dies: it
 * is not to go on with less than it had, nor with what a call that has failed has left.
 */
static int install_filters(const struct cryo_resume *args, unsigned int shared,
			   struct cryo_log *log)
{
	struct cryo_seccomp_program __user *from = (void __user *)(unsigned long)args->seccomp;
	struct cryo_seccomp_program filter;
	unsigned int i;
	int err = 0;

	for (i = shared; i < args->nr_seccomp; i++) {
		if (fatal_signal_pending(current))
			err = -EINTR;
		else if (copy_from_user(&filter, &from[i], sizeof(filter)))
			err = -EFAULT;
		/* No listener, whose descriptor would be one too many; nothing for others. */
		else if (filter.reserved || filter.flags & ~SECCOMP_FILTER_FLAG_LOG)
			err = -EINVAL;
		/* Mitigations of speculation are not seccomp's to change here. */
		else
			err = call_seccomp(SECCOMP_SET_MODE_FILTER,
					   filter.flags | SECCOMP_FILTER_FLAG_SPEC_ALLOW,
					   filter.program);
		if (err)
			break;
	}
	if (!err || !i)
		return err;
	cryo_log(log, "thread %d: cannot install seccomp filter %u of %u: %pe",
		 task_pid_vnr(current), i + 1, args->nr_seccomp, ERR_PTR(err));
	send_sig(SIGKILL, current, 1);
	return 0;
}

#ifdef CONFIG_SECCOMP_FILTER

/*
 * With siglock. The filter that has @n restored ones of @from's, which has @total, up to it; NULL:
 * it has not.
 */
static struct cryo_seccomp_copy *nth_filter(struct task_struct *from, unsigned int total,
					    unsigned int n)
{
	struct cryo_seccomp_copy *filter = NULL;

	lockdep_assert_held(&current->sighand->siglock);
	if (from->sighand == current->sighand && from->seccomp.mode == SECCOMP_MODE_FILTER)
		filter = (struct cryo_seccomp_copy *)cryo_seccomp_newest(from);
	for (; filter && n < total; n++)
		filter = filter->prev;
	return filter;
}

/* With siglock. How many there are up to it; 0: @own is not among them. */
static int depth_below(const struct cryo_seccomp_copy *filter, const struct cryo_seccomp_copy *own)
{
	bool found = !own;
	int depth = 0;

	lockdep_assert_held(&current->sighand->siglock);
	for (; filter; filter = filter->prev) {
		found |= filter == own;
		depth++;
	}
	return found ? depth : 0;
}

static int take_filters(struct task_struct *from, unsigned int total, unsigned int shared)
{
	struct cryo_seccomp_copy *filter;
	struct sighand_struct *sighand;
	int err = -EINVAL, depth;

	/* What seccomp(2) asks of the thread. */
	if (!task_no_new_privs(current) &&
	    !ns_capable_noaudit(current_user_ns(), CAP_SYS_ADMIN))
		return -EACCES;
	sighand = cryo_lock_sighand(current);
	if (!sighand)
		return -ESRCH;
	filter = nth_filter(from, total, shared);
	depth = depth_below(filter, cryo_seccomp_newest(current));
	if (depth) {
		cryo_seccomp_take(filter, depth);
		err = 0;
	}
	cryo_unlock_sighand(sighand);
	return err;
}

#else

static int take_filters(struct task_struct *from, unsigned int total, unsigned int shared)
{
	return -EOPNOTSUPP;
}

#endif

/*
 * The filters of the thread of the caller's process that is called @number, which may not have them
 * yet. Freed with @g.
 */
static struct cryo_rst_filters *filters_of(struct cryo_rst_group *g, u32 number)
{
	unsigned long key = (unsigned long)task_tgid_nr(current) << 32 | number;
	struct cryo_rst_filters *f = xa_load(&g->filters, key), *other;

	BUILD_BUG_ON(sizeof(key) < 8);
	if (f)
		return f;
	/* Its own, and those of one other thread. */
	if (atomic_inc_return(&g->nr_filters) > 2 * g->threads) {
		atomic_dec(&g->nr_filters);
		return ERR_PTR(-EINVAL);
	}
	f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);
	if (!f)
		return ERR_PTR(-ENOMEM);
	init_waitqueue_head(&f->wait);
	other = xa_cmpxchg(&g->filters, key, NULL, f, GFP_KERNEL_ACCOUNT);
	if (!other)
		return f;
	kfree(f);
	return xa_is_err(other) ? ERR_PTR(xa_err(other)) : other;
}

/* When nobody has @g any more. */
void cryo_rst_free_filters(struct cryo_rst_group *g)
{
	struct cryo_rst_filters *f;
	unsigned long key;

	xa_for_each(&g->filters, key, f) {
		if (f->task)
			put_task_struct(f->task);
		kfree(f);
		cond_resched();
	}
	xa_destroy(&g->filters);
}

/* It comes, or all are killed. One queue for each, and only who waits for it is woken. */
static int wait_for_filters(struct cryo_rst_group *g, struct cryo_rst_filters *f)
{
	DECLARE_WAITQUEUE(go, current);
	DECLARE_WAITQUEUE(own, current);
	int err = 0;

	add_wait_queue(&g->go_wait, &go);
	add_wait_queue(&f->wait, &own);
	for (;;) {
		set_current_state(CRYO_RST_PARKED_STATE);
		/* With what belongs to it. */
		if (smp_load_acquire(&f->task))
			break;
		if (cryo_rst_state_of(g) > CRYO_RST_COMMITTING)
			err = -ECANCELED;
		else if (fatal_signal_pending(current))
			err = -EINTR;
		if (err)
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	remove_wait_queue(&f->wait, &own);
	remove_wait_queue(&g->go_wait, &go);
	return err;
}

/* The caller has its filters. Of several that are called the same, the first one counts. */
static void show_filters(struct cryo_rst_group *g, struct cryo_rst_filters *f, unsigned int total)
{
	spin_lock(&g->state_lock);
	if (!f->task) {
		f->total = total;
		/* A reader that sees the thread sees how many it has. */
		smp_store_release(&f->task, get_task_struct(current));
	}
	spin_unlock(&g->state_lock);
	wake_up_all(&f->wait);
}

/* The oldest of the caller's filters, from the thread that has them. */
static int share_filters(struct cryo_rst_group *g, const struct cryo_resume *args)
{
	struct cryo_rst_filters *f;
	int err;

	if (args->seccomp_shared > args->nr_seccomp || !args->seccomp_of ||
	    args->seccomp_of == args->seccomp_thread)
		return -EINVAL;
	f = filters_of(g, args->seccomp_of);
	if (IS_ERR(f))
		return PTR_ERR(f);
	err = wait_for_filters(g, f);
	if (err)
		return err;
	return args->seccomp_shared <= f->total ?
	       take_filters(f->task, f->total, args->seccomp_shared) : -EINVAL;
}

static int set_filters(struct cryo_rst_group *g, const struct cryo_resume *args)
{
	unsigned int shared = args->seccomp_shared;
	int err = 0;

	if (!args->nr_seccomp || args->nr_seccomp > CRYO_MAX_SECCOMP)
		return -EINVAL;
	/* Equal ones then. */
	if (!cryo_layout_fits(CRYO_LAYOUT_SECCOMP))
		shared = 0;
	if (shared)
		err = share_filters(g, args);
	return err ?: install_filters(args, shared, &g->log);
}

static int set_mode(struct cryo_rst_group *g, const struct cryo_resume *args)
{
	switch (args->seccomp_mode) {
	case SECCOMP_MODE_DISABLED:
		return args->nr_seccomp ? -EINVAL : 0;
	case SECCOMP_MODE_STRICT:
		return args->nr_seccomp ? -EINVAL : call_seccomp(SECCOMP_SET_MODE_STRICT, 0, 0);
	case SECCOMP_MODE_FILTER:
		return set_filters(g, args);
	}
	return -EINVAL;
}

static int set_mode_with_right(struct cryo_rst_group *g, const struct cryo_resume *args)
{
	const struct cred *own;
	int err;

	if (args->seccomp_mode != SECCOMP_MODE_FILTER || task_no_new_privs(current) ||
	    !cryo_maker_capable(g->creds, current_user_ns(), CAP_SYS_ADMIN))
		return set_mode(g, args);
	own = cryo_raise_own_cap(CAP_SYS_ADMIN);
	if (IS_ERR(own))
		return PTR_ERR(own);
	err = set_mode(g, args);
	cryo_drop_own_cap(own);
	return err;
}

/*
 * In the thread. It has dropped the right that a filter without no_new_privs takes; the maker of
 * the handle, who restarts it, may have that: over the thread itself, not just in a user namespace
 * of his own. 0: they are there, or the thread is dying.
 */
int cryo_install_seccomp(struct cryo_rst_group *g, struct cryo_rst_member *m)
{
	struct cryo_rst_filters *own = NULL;
	int err;

	/* Before they are there: from then on there is no way back. */
	if (m->args.seccomp_thread)
		own = filters_of(g, m->args.seccomp_thread);
	if (IS_ERR(own))
		return PTR_ERR(own);
	err = set_mode_with_right(g, &m->args);
	if (!err && own)
		show_filters(g, own, m->args.nr_seccomp);
	return err;
}
