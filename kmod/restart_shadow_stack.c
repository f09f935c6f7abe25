// SPDX-License-Identifier: GPL-2.0-only
/*
 * restart_shadow_stack.c - shadow stacks: what is in them, and which memory is theirs
 *
 * Only the CPU writes to them, when it calls and returns, and the kernel, as for a debugger.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat/mm.h"
#include "cryo.h"

/* Whole pages of user space? */
static bool is_range(u64 start, u64 size)
{
	return size && PAGE_ALIGNED(start) && PAGE_ALIGNED(size) && start < TASK_SIZE &&
	       size <= TASK_SIZE - start;
}

/* The page at @addr, with a reference, if it is one of a shadow stack. */
static struct page *get_stack_page(struct mm_struct *mm, unsigned long addr)
{
	struct vm_area_struct *vma;
	struct page *page;
	long n = -EACCES;

	if (mmap_read_lock_killable(mm))
		return ERR_PTR(-EINTR);
	vma = vma_lookup(mm, addr);
	if (vma && cryo_vma_shadow_stack(vma))
		n = cryo_get_user_pages_remote(mm, addr, 1, FOLL_WRITE | FOLL_FORCE, &page);
	mmap_read_unlock(mm);
	if (n == 1)
		return page;
	return ERR_PTR(n ?: -EFAULT);
}

static int fill_shadow_stack(const struct cryo_shadow_stack *args, void *buffer)
{
	struct page *page;
	u64 at;

	for (at = 0; at < args->length; at += PAGE_SIZE) {
		if (copy_from_user(buffer, (void __user *)(unsigned long)(args->data + at),
				   PAGE_SIZE))
			return -EFAULT;
		page = get_stack_page(current->mm, args->address + at);
		if (IS_ERR(page))
			return PTR_ERR(page);
		memcpy_to_page(page, 0, buffer, PAGE_SIZE);
		set_page_dirty_lock(page);
		put_page(page);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/* CRYO_RST_SHADOW_STACK */
long cryo_restart_shadow_stack(void __user *arg)
{
	struct cryo_shadow_stack args;
	void *buffer;
	int err;

	err = cryo_copy_args(&args, sizeof(args), sizeof(args), arg);
	if (err)
		return err;
	if (args.reserved || !is_range(args.address, args.length))
		return -EINVAL;
	buffer = kmalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT);
	if (!buffer)
		return -ENOMEM;
	err = fill_shadow_stack(&args, buffer);
	kfree(buffer);
	return err;
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

/* Is there nothing in the range but shadow stacks? Of @task, which is parked and may die. */
int cryo_check_shadow_stack(struct task_struct *task, u64 start, u64 size)
{
	struct mm_struct *mm;
	int err;

	if (!is_range(start, size))
		return -EINVAL;
	mm = get_task_mm(task);
	if (!mm)
		return -ESRCH;
	err = mmap_read_lock_killable(mm);
	if (!err) {
		if (!is_all_stack(mm, start, start + size))
			err = -EACCES;
		mmap_read_unlock(mm);
	}
	mmput(mm);
	return err;
}
