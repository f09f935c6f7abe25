// SPDX-License-Identifier: GPL-2.0-only
/*
 * read_memory.c - a few bytes of a parked process's memory, while those of it that have been killed
 * wait for us
 *
 * A page that is not there may have to be asked for, of a process that serves a file system (FUSE)
 * or takes page faults (userfaultfd), and that may never answer. The fault for it cannot be
 * interrupted, not even by SIGKILL, and holds mmap_lock all the while. Others may have the memory,
 * too, and map something else there at any moment: so it is asked what is there, and the page
 * taken, in one hold of mmap_lock, page by page.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/string.h>
#include <linux/userfaultfd_k.h>

#include "capture/busy_lock.h"
#include "capture/read_memory.h"
#include "compat/aio.h"
#include "compat/mm.h"
#include "lib/walk_path.h"
#include "request/request.h"

/*
 * Would a page of it that is not there have to be asked for, of whom may never answer? What has no
 * file comes from memory or swap.
 */
static bool is_served(struct vm_area_struct *vma)
{
	return userfaultfd_armed(vma) ||
	       (vma->vm_file && !cryo_is_aio_ring(vma->vm_file) &&
		!cryo_is_at_hand(file_inode(vma->vm_file)->i_sb));
}

/*
 * With mmap_lock, which get_user_pages_remote() keeps where it is not told that it may drop it.
 * NULL: it cannot be had.
 */
static struct page *take_page(struct mm_struct *mm, unsigned long addr)
{
	struct vm_area_struct *vma = vma_lookup(mm, addr);
	struct page *page;
	long n;

	lockdep_assert_held(&mm->mmap_lock);
	if (!vma)
		return NULL;
	n = cryo_get_user_pages_remote(mm, addr, 1,
				       FOLL_FORCE | (is_served(vma) ? FOLL_NOFAULT : 0), &page);
	return n == 1 ? page : NULL;
}

/*
 * With mmap_lock: what of [@addr, @addr + @size) is in its first page. Returns how much that is; 0:
 * it cannot be had.
 */
static int read_part(struct mm_struct *mm, unsigned long addr, void *to, int size)
{
	int part = min_t(int, size, PAGE_SIZE - offset_in_page(addr));
	struct page *page = take_page(mm, addr);
	void *from;

	lockdep_assert_held(&mm->mmap_lock);
	if (!page)
		return 0;
	from = kmap_local_page(page);
	memcpy(to, from + offset_in_page(addr), part);
	kunmap_local(from);
	put_page(page);
	return part;
}

static int read_locked(struct mm_struct *mm, unsigned long addr, void *to, int size)
{
	int part;

	for (; size > 0; size -= part) {
		part = fatal_signal_pending(current) ? 0 : read_part(mm, addr, to, size);
		if (!part)
			return -EFAULT;
		addr += part;
		to += part;
		cond_resched();
	}
	return 0;
}

/*
 * Of @task, which is @current or parked. What a server would have to be asked for is not read:
 * -EFAULT.
 */
int cryo_read_memory(struct cryo_request *req, struct task_struct *task, unsigned long addr,
		     void *to, int size)
{
	struct mm_struct *mm = get_task_mm(task);
	int err;

	/* A task killed meanwhile has no memory any more. */
	if (!mm)
		return -ESRCH;
	err = cryo_mmap_read_lock(req, mm);
	if (!err) {
		err = read_locked(mm, cryo_untagged_addr(mm, addr), to, size);
		mmap_read_unlock(mm);
	}
	mmput(mm);
	return err && !READ_ONCE(task->mm) ? -ESRCH : err;
}
