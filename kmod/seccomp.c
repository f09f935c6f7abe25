// SPDX-License-Identifier: GPL-2.0-only
/*
 * seccomp.c - seccomp of a thread being restarted
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
#include <linux/seccomp.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "access.h"
#include "compat/ksym.h"
#include "cryo.h"
#include "cryo_arch.h"

static int install(unsigned int op, unsigned int flags, u64 program)
{
	if (!cryo_fn_seccomp)
		return -EOPNOTSUPP;
	return cryo_arch_syscall3(cryo_fn_seccomp, op, flags, program);
}

/*
 * Filters cannot be taken away.  If some are there when another one is refused, the thread dies: it is not to go
 * on with less than it had, nor with what a call that has failed has left.
 */
static int install_filters(const struct cryo_resume *args, struct cryo_log *log)
{
	struct cryo_seccomp_program __user *from = (void __user *)(unsigned long)args->seccomp;
	struct cryo_seccomp_program filter;
	unsigned int i;
	int err = 0;

	if (!args->nr_seccomp || args->nr_seccomp > CRYO_MAX_SECCOMP)
		return -EINVAL;
	for (i = 0; i < args->nr_seccomp; i++) {
		if (fatal_signal_pending(current))
			err = -EINTR;
		else if (copy_from_user(&filter, &from[i], sizeof(filter)))
			err = -EFAULT;
		/* No listener, whose descriptor would be one too many; nothing for others. */
		else if (filter.reserved || filter.flags & ~SECCOMP_FILTER_FLAG_LOG)
			err = -EINVAL;
		/* Mitigations of speculation are not seccomp's to change here. */
		else
			err = install(SECCOMP_SET_MODE_FILTER,
				      filter.flags | SECCOMP_FILTER_FLAG_SPEC_ALLOW,
				      filter.program);
		if (err)
			break;
	}
	if (!err || !i)
		return err;
	cryo_log(log, "thread %d: seccomp filter %u of %u is refused (error %d)",
		 task_pid_vnr(current), i + 1, args->nr_seccomp, err);
	send_sig(SIGKILL, current, 1);
	return 0;
}

static int set_mode(const struct cryo_resume *args, struct cryo_log *log)
{
	switch (args->seccomp_mode) {
	case SECCOMP_MODE_DISABLED:
		return args->nr_seccomp ? -EINVAL : 0;
	case SECCOMP_MODE_STRICT:
		return args->nr_seccomp ? -EINVAL : install(SECCOMP_SET_MODE_STRICT, 0, 0);
	case SECCOMP_MODE_FILTER:
		return install_filters(args, log);
	}
	return -EINVAL;
}

/*
 * In the thread.  It has dropped the right that a filter without no_new_privs takes; @maker, who restarts it, may have
 * that: over the thread itself, not just in a user namespace of his own.  0: they are there, or the thread is dying.
 */
int cryo_install_seccomp(const struct cryo_resume *args, const struct cred *maker,
			 struct cryo_log *log)
{
	const struct cred *own;
	int err;

	if (args->seccomp_mode != SECCOMP_MODE_FILTER || task_no_new_privs(current) ||
	    !cryo_maker_capable(maker, current_user_ns(), CAP_SYS_ADMIN))
		return set_mode(args, log);
	own = cryo_raise_own(CAP_SYS_ADMIN);
	if (IS_ERR(own))
		return PTR_ERR(own);
	err = set_mode(args, log);
	cryo_drop_own(own);
	return err;
}
