// SPDX-License-Identifier: GPL-2.0-only
/* args.c - structures that a caller of any age hands to an ioctl */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "lib/args.h"

int cryo_copy_args(void *args, size_t known, size_t least, void __user *from)
{
	u32 size;

	if (get_user(size, (u32 __user *)from))
		return -EFAULT;
	if (size > PAGE_SIZE)
		return -E2BIG;
	if (size < least)
		return -EINVAL;
	return copy_struct_from_user(args, known, from, size);
}

static void *copy_with_room(u64 from, size_t length, size_t room)
{
	void *data = kvmalloc(length + room, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);

	if (!data)
		return ERR_PTR(-ENOMEM);
	if (copy_from_user(data, (void __user *)(unsigned long)from, length)) {
		kvfree(data);
		return ERR_PTR(-EFAULT);
	}
	return data;
}

/*
 * @length bytes from the user's address @from, for kvfree(): accounted to the caller, whatever he
 * says. Or an ERR_PTR.
 */
void *cryo_copy_data(u64 from, size_t length)
{
	return copy_with_room(from, length, 0);
}

char *cryo_copy_text(u64 from, size_t length)
{
	char *text = copy_with_room(from, length, 1);

	if (!IS_ERR(text))
		text[length] = '\0';
	return text;
}
