// SPDX-License-Identifier: GPL-2.0-only
/*
 * map_fork.c - children of a process whose pages have not all come yet
 *
 * A child has ordinary areas with all pages. Kernels differ in whether an area is opened in the
 * child before its page tables are copied or afterwards: v6.9 has changed that (35e351780fa9), and
 * so have updates of v6.1, so that no version tells. What is copied is write-protected first, of
 * which the notifier is told.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/sched.h>

#include "lazy/map.h"

enum fork_order { UNKNOWN, OPEN_FIRST, COPY_FIRST };

/* It is the same for all areas, and is known when one of them is opened for the first time. */
static enum fork_order order_of(const struct cryo_map_vma *parent)
{
	static enum fork_order order;

	if (READ_ONCE(order) == UNKNOWN)
		WRITE_ONCE(order, READ_ONCE(parent->copied) ? COPY_FIRST : OPEN_FIRST);
	return READ_ONCE(order);
}

static int give_all(struct vm_area_struct *vma, struct cryo_map_vma *parent)
{
	if (vma->vm_flags & VM_WIPEONFORK)
		return 0;
	/* Else what is copied could not be entered in the child's reverse map any more. */
	if (!vma->anon_vma)
		return -EINVAL;
	if (order_of(parent) == COPY_FIRST)
		return cryo_map_give(vma, parent);
	return cryo_map_load(parent->vma, vma->vm_start, vma->vm_end);
}

/* Both mmap_locks are held for writing. */
void cryo_map_open_in_child(struct vm_area_struct *vma, struct cryo_map_vma *parent)
{
	int err = give_all(vma, parent);

	if (err) {
		pr_warn_ratelimited("pid %d (%s): cannot copy mapped memory %lx-%lx to a child: %pe\n",
				    task_tgid_nr(current), current->comm, vma->vm_start,
				    vma->vm_end, ERR_PTR(err));
		cryo_map_poison(vma);
	} else {
		vma->vm_private_data = NULL;
		vma_set_anonymous(vma);
	}
}
