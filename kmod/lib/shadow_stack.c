// SPDX-License-Identifier: GPL-2.0-only
/*
 * shadow_stack.c - which memory is a shadow stack
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "compat/mm.h"
#include "lib/shadow_stack.h"
#include "lib/wait.h"

#define MEMORY_WAIT_MS	1000

bool cryo_shadow_stack_range(u64 start, u64 size)
{
	return size && PAGE_ALIGNED(start) && PAGE_ALIGNED(size) && start < TASK_SIZE &&
	       size <= TASK_SIZE - start;
}

static bool is_all_stack(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	VMA_ITERATOR(vmi, mm, start);
	struct vm_area_struct *vma;

	for_each_vma_range(vmi, vma, end)
		if (!cryo_vma_shadow_stack(vma))
			return false;
	return true;
}

/*
 * Another thread of that process, or who writes to its memory, may have it for as long as a server
 * does not give a page; and the caller has a lock that other members want before they can die. So
 * the wait for it has an end.
 */
static int take_mmap_lock(struct mm_struct *mm)
{
	unsigned long limit = jiffies + msecs_to_jiffies(MEMORY_WAIT_MS);

	while (!mmap_read_trylock(mm)) {
		if (fatal_signal_pending(current))
			return -EINTR;
		if (time_after(jiffies, limit))
			return -ETIMEDOUT;
		cryo_sleep(1);
	}
	return 0;
}

int cryo_check_shadow_stack(struct task_struct *task, u64 start, u64 size)
{
	struct mm_struct *mm;
	int err;

	if (!cryo_shadow_stack_range(start, size))
		return -EINVAL;
	mm = get_task_mm(task);
	if (!mm)
		return -ESRCH;
	err = take_mmap_lock(mm);
	if (!err) {
		if (!is_all_stack(mm, start, start + size))
			err = -EACCES;
		mmap_read_unlock(mm);
	}
	mmput(mm);
	return err;
}
