/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kernel/seccomp.c: the head of its filters.
 *
 * The same on 6.1, 6.12 and 7.2 (compared by their type information); the cache
 * has been there since v5.11 f9d480b6ffbe.
 */
#ifndef CRYO_COMPAT_SECCOMP_H
#define CRYO_COMPAT_SECCOMP_H

#include <linux/filter.h>
#include <linux/refcount.h>
#include <linux/seccomp.h>
#include <linux/types.h>

struct cryo_seccomp_copy {
	refcount_t refs;
	refcount_t users;
	bool log;
	bool wait_killable_recv;
	struct {
#ifdef SECCOMP_ARCH_NATIVE
		DECLARE_BITMAP(allow_native, SECCOMP_ARCH_NATIVE_NR);
#ifdef SECCOMP_ARCH_COMPAT
		DECLARE_BITMAP(allow_compat, SECCOMP_ARCH_COMPAT_NR);
#endif
#endif
	} cache;
	struct cryo_seccomp_copy *prev;
	struct bpf_prog *prog;
	void *notif;
};

/* The newest filter of @task, which is parked: nobody changes them then. */
static inline const struct cryo_seccomp_copy *cryo_seccomp_newest(struct task_struct *task)
{
	return (const struct cryo_seccomp_copy *)READ_ONCE(task->seccomp.filter);
}

#endif
