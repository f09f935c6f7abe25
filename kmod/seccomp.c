// SPDX-License-Identifier: GPL-2.0-only
/*
 * seccomp.c - seccomp of a thread being restarted
 *
 * What is installed counts from the next system call on, so it has to come after
 * the last one that the restart makes: inside CRYO_RST_RESUME.  Set earlier, a
 * filter could forbid that call, or kill the thread for it.
 */
#include <linux/cred.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat/ksym.h"
#include "cryo.h"
#include "cryo_arch.h"

static int install(unsigned int op, unsigned int flags, u64 program)
{
	if (!cryo_fn_seccomp)
		return -EOPNOTSUPP;
	return cryo_arch_syscall3(cryo_fn_seccomp, op, flags, program);
}

static int install_filters(const struct cryo_resume *args)
{
	struct cryo_seccomp_program __user *from = (void __user *)(unsigned long)args->seccomp;
	struct cryo_seccomp_program filter;
	unsigned int i;
	int err = 0;

	if (!args->nr_seccomp || args->nr_seccomp > CRYO_MAX_SECCOMP)
		return -EINVAL;
	for (i = 0; i < args->nr_seccomp && !err; i++) {
		if (copy_from_user(&filter, &from[i], sizeof(filter)))
			return -EFAULT;
		/* No listener, whose descriptor would be one too many; nothing for others. */
		if (filter.reserved || filter.flags & ~SECCOMP_FILTER_FLAG_LOG)
			return -EINVAL;
		/* Mitigations of speculation are not seccomp's to change here. */
		err = install(SECCOMP_SET_MODE_FILTER,
			      filter.flags | SECCOMP_FILTER_FLAG_SPEC_ALLOW, filter.program);
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return err;
}

static int set_mode(const struct cryo_resume *args)
{
	switch (args->seccomp_mode) {
	case SECCOMP_MODE_DISABLED:
		return args->nr_seccomp ? -EINVAL : 0;
	case SECCOMP_MODE_STRICT:
		return args->nr_seccomp ? -EINVAL : install(SECCOMP_SET_MODE_STRICT, 0, 0);
	case SECCOMP_MODE_FILTER:
		return install_filters(args);
	}
	return -EINVAL;
}

/*
 * In the thread.  It has dropped the rights that a filter without no_new_privs
 * takes; @caller, who restarts it, may have them.
 */
int cryo_install_seccomp(const struct cryo_resume *args, const struct cred *caller)
{
	const struct cred *own;
	int err;

	if (!args->seccomp_mode || task_no_new_privs(current))
		return set_mode(args);
	own = override_creds(caller);
	err = set_mode(args);
	revert_creds(own);
	return err;
}
