// SPDX-License-Identifier: GPL-2.0-only
/*
 * optional.c - task state that exists only in kernels configured for it
 */
#include <linux/cred.h>
#include <linux/mm_types.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "lib/optional.h"
#include "save/memory/aio.h"

bool cryo_task_syscall_dispatch(struct task_struct *task)
{
#ifdef CONFIG_GENERIC_ENTRY
	return task->syscall_dispatch.selector || task->syscall_dispatch.len;
#else
	return false;
#endif
}

bool cryo_mm_has_aio(struct mm_struct *mm)
{
#ifdef CONFIG_AIO
	return rcu_access_pointer(mm->ioctx_table);
#else
	return false;
#endif
}

static bool same_groups(const struct group_info *x, const struct group_info *y)
{
	int i;

	if (x == y)
		return true;
	if (x->ngroups != y->ngroups)
		return false;
	for (i = 0; i < x->ngroups; i++)
		if (!gid_eq(x->gid[i], y->gid[i]))
			return false;
	return true;
}

bool cryo_same_creds(struct task_struct *a, struct task_struct *b)
{
	const struct cred *x = get_task_cred(a);
	const struct cred *y = get_task_cred(b);
	bool same = uid_eq(x->uid, y->uid) && uid_eq(x->euid, y->euid) &&
		    uid_eq(x->suid, y->suid) && uid_eq(x->fsuid, y->fsuid) &&
		    gid_eq(x->gid, y->gid) && gid_eq(x->egid, y->egid) &&
		    gid_eq(x->sgid, y->sgid) && gid_eq(x->fsgid, y->fsgid) &&
		    x->securebits == y->securebits && x->user_ns == y->user_ns &&
		    !memcmp(&x->cap_inheritable, &y->cap_inheritable, sizeof(x->cap_inheritable)) &&
		    !memcmp(&x->cap_permitted, &y->cap_permitted, sizeof(x->cap_permitted)) &&
		    !memcmp(&x->cap_effective, &y->cap_effective, sizeof(x->cap_effective)) &&
		    !memcmp(&x->cap_bset, &y->cap_bset, sizeof(x->cap_bset)) &&
		    !memcmp(&x->cap_ambient, &y->cap_ambient, sizeof(x->cap_ambient)) &&
		    same_groups(x->group_info, y->group_info);

	put_cred(y);
	put_cred(x);
	return same;
}
