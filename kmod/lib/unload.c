// SPDX-License-Identifier: GPL-2.0-only
#include <linux/atomic.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include "lib/unload.h"

static atomic_t works = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(works_wait);

void cryo_unload_get(void)
{
	atomic_inc(&works);
}

void cryo_unload_put(void)
{
	if (atomic_dec_and_test(&works))
		wake_up_all(&works_wait);
}

/* How many there are, for who only looks. */
atomic_t *cryo_unload_works(void)
{
	return &works;
}

void cryo_unload_wait(void)
{
	wait_event(works_wait, !atomic_read(&works));
	/* The last works may have been preempted between their put and their return. */
	synchronize_rcu_tasks();
}
