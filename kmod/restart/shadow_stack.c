// SPDX-License-Identifier: GPL-2.0-only
/*
 * shadow_stack.c - shadow stacks: what is in them, and which memory is theirs
 *
 * Only the CPU writes to them, when it calls and returns, and the kernel, as for a debugger.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <cryo/ioctl.h>

#include "compat/mm.h"
#include "lib/args.h"
#include "lib/shadow_stack.h"
#include "restart/restart.h"

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

/* Only one that nothing has been put on: stacks that are in use have return addresses. */
static int fill_page(struct page *page, const void *buffer)
{
	void *at = kmap_local_page(page);
	bool unused = !memchr_inv(at, 0, PAGE_SIZE);

	if (unused) {
		memcpy(at, buffer, PAGE_SIZE);
		flush_dcache_page(page);
	}
	kunmap_local(at);
	if (unused)
		set_page_dirty_lock(page);
	return unused ? 0 : -EBUSY;
}

static int fill_shadow_stack(const struct cryo_shadow_stack *args, void *buffer)
{
	struct page *page;
	u64 at;
	int err;

	for (at = 0; at < args->length; at += PAGE_SIZE) {
		if (copy_from_user(buffer, (void __user *)(unsigned long)(args->data + at),
				   PAGE_SIZE))
			return -EFAULT;
		page = get_stack_page(current->mm, args->address + at);
		if (IS_ERR(page))
			return PTR_ERR(page);
		err = fill_page(page, buffer);
		put_page(page);
		if (err)
			return err;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/*
 * A program is not to write its own return addresses: another process restarts it, and it has not
 * gone on yet.
 */
static int check_is_rebuilt(struct cryo_rst_group *g)
{
	bool is;

	if (mutex_lock_killable(&g->lock))
		return -EINTR;
	is = !cryo_rst_is_coordinator(g) && !cryo_rst_has_resumed(g, current);
	mutex_unlock(&g->lock);
	return is ? 0 : -EPERM;
}

/* CRYO_RST_SHADOW_STACK */
long cryo_restart_shadow_stack(struct cryo_rst_group *g, void __user *arg)
{
	struct cryo_shadow_stack args;
	void *buffer;
	int err;

	err = cryo_copy_args(&args, sizeof(args), sizeof(args), arg);
	if (err)
		return err;
	if (args.reserved || !cryo_shadow_stack_range(args.address, args.length))
		return -EINVAL;
	err = check_is_rebuilt(g);
	if (err)
		return err;
	buffer = kmalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT);
	if (!buffer)
		return -ENOMEM;
	err = fill_shadow_stack(&args, buffer);
	kfree(buffer);
	return err;
}
