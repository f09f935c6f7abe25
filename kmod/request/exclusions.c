// SPDX-License-Identifier: GPL-2.0-only
/*
 * exclusions.c - ranges of memory of which a process does not need the contents: its library's list
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <cryo/client.h>

#include "lib/args.h"
#include "request/exclusions.h"
#include "request/request.h"

void cryo_exclusions_free(struct cryo_exclusions *x)
{
	if (!x)
		return;
	mmdrop(x->mm);
	kvfree(x);
}

/* Ascending, with room between them, whole pages. */
static bool are_ranges(const struct cryo_exclusions *x)
{
	u64 end = 0;
	u32 i;

	for (i = 0; i < x->nr; i++) {
		const struct cryo_client_range *r = &x->ranges[i];

		if (r->start >= r->end || (r->start | r->end) & ~PAGE_MASK ||
		    (i && r->start <= end))
			return false;
		end = r->end;
	}
	return true;
}

struct cryo_exclusions *cryo_exclusions_copy(void __user *arg)
{
	struct cryo_client_exclude args = {};
	struct cryo_exclusions *x;
	int err;

	err = cryo_copy_args(&args, sizeof(args), sizeof(args), arg);
	if (err)
		return ERR_PTR(err);
	if (args.nr_ranges > CRYO_MAX_EXCLUDED)
		return ERR_PTR(-E2BIG);
	x = kvzalloc(struct_size(x, ranges, args.nr_ranges), GFP_KERNEL_ACCOUNT);
	if (!x)
		return ERR_PTR(-ENOMEM);
	mmgrab(current->mm);
	x->mm = current->mm;
	x->nr = args.nr_ranges;
	if (copy_from_user(x->ranges, u64_to_user_ptr(args.ranges),
			   x->nr * sizeof(x->ranges[0])))
		err = -EFAULT;
	else if (!are_ranges(x))
		err = -EINVAL;
	if (!err)
		return x;
	cryo_exclusions_free(x);
	return ERR_PTR(err);
}

const struct cryo_client_range *cryo_exclusions_find(const struct cryo_proc *p, u64 start, u64 end)
{
	const struct cryo_exclusions *x = p->excluded;
	u32 i;

	if (!x || x->mm != p->mm)
		return NULL;
	for (i = 0; i < x->nr && x->ranges[i].start < end; i++)
		if (x->ranges[i].end > start)
			return &x->ranges[i];
	return NULL;
}
