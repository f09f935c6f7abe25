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

/* The newest filter of @task, which is parked: the list does not change then. */
static inline const struct cryo_seccomp_copy *cryo_seccomp_newest(struct task_struct *task)
{
	return (const struct cryo_seccomp_copy *)READ_ONCE(task->seccomp.filter);
}

#ifdef CONFIG_SECCOMP_FILTER
/*
 * Gives the caller @filter, which another thread of it has, in place of its own newest one, which
 * @filter descends from: what clone(2) does for a thread that it makes. With siglock.
 */
static inline void cryo_seccomp_take(struct cryo_seccomp_copy *filter, int depth)
{
	struct cryo_seccomp_copy *own = (void *)current->seccomp.filter;

	lockdep_assert_held(&current->sighand->siglock);
	refcount_inc(&filter->refs);
	refcount_inc(&filter->users);
	/* Pairs with the kernel's READ_ONCE() in __seccomp_filter(). */
	smp_store_release(&current->seccomp.filter, (struct seccomp_filter *)filter);
	atomic_set(&current->seccomp.filter_count, depth);
	/* None of these is the last: @filter holds it, too. */
	if (own) {
		refcount_dec(&own->refs);
		refcount_dec(&own->users);
	}
	current->seccomp.mode = SECCOMP_MODE_FILTER;
	/* The mode is there before it is asked for, as in seccomp_assign_mode(). */
	smp_mb__before_atomic();
	set_task_syscall_work(current, SECCOMP);
}
#endif

#endif
