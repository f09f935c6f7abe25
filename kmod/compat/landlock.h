/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * security/landlock: whether a task has restricted itself.
 *
 * The domain is the first word of Landlock's part of the credentials on 6.1,
 * 6.12 and 7.2, at the offset that comes first in its table of sizes.  A kernel
 * built without the names of data does not tell where that is, but answers.
 */
#ifndef CRYO_COMPAT_LANDLOCK_H
#define CRYO_COMPAT_LANDLOCK_H

#include <linux/cred.h>
#include <linux/sched.h>

#include "ksym.h"

static inline bool cryo_task_landlocked(struct task_struct *task)
{
	const unsigned int *sizes = cryo_landlock_blob_sizes;
	const bool *initialized = cryo_landlock_initialized;
	const struct cred *cred;
	bool restricted = false;

	if (!sizes || !initialized)
		return cryo_landlock_forbids(task);
	/* Not in use on this machine: the offset has never been set then. */
	if (!READ_ONCE(*initialized))
		return false;
#ifdef CONFIG_SECURITY
	cred = get_task_cred(task);
	if (cred->security)
		restricted = *(void **)((char *)cred->security + READ_ONCE(*sizes));
	put_cred(cred);
#endif
	return restricted;
}

#endif
