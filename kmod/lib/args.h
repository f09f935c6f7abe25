/* SPDX-License-Identifier: GPL-2.0-only */
/* args.h - structures and data that callers hand to an ioctl */
#ifndef CRYO_LIB_ARGS_H
#define CRYO_LIB_ARGS_H

#include <linux/types.h>

/* args.c */

/**
 * cryo_copy_args() - copy the argument structure of an ioctl, which begins with its u32 size
 * @args: is filled; what the caller's structure is too short for is zero
 * @known: sizeof(*@args), in bytes
 * @least: the smallest size that is accepted, in bytes
 * @from: address of the structure in user memory
 *
 * A caller built for another version may have a shorter or a longer structure. Of a longer one, the
 * bytes that are unknown here have to be zero; it may take a page at most, so that the check is
 * short.
 *
 * Context: In the caller of the ioctl. May fault on user memory: no spinlock held.
 *
 * Return: 0; -EFAULT: not readable; -EINVAL: shorter than @least; -E2BIG: unknown bytes are not
 * zero, or it is larger than a page.
 */
int cryo_copy_args(void *args, size_t known, size_t least, void __user *from);

/**
 * cryo_copy_data() - copy bytes from user memory into memory charged to the caller
 * @from: the address in user memory
 * @length: bytes
 *
 * Context: In the caller of the ioctl. May sleep.
 *
 * Return: a buffer, for kvfree(); ERR_PTR(-ENOMEM) or ERR_PTR(-EFAULT).
 */
void *cryo_copy_data(u64 from, size_t length);

/**
 * cryo_copy_text() - copy a string from user memory, and terminate it by NUL
 * @from: the address in user memory
 * @length: bytes, without a NUL
 *
 * Context: As of cryo_copy_data().
 *
 * Return: a string of @length bytes and a NUL, for kvfree(); ERR_PTR(-ENOMEM) or ERR_PTR(-EFAULT).
 */
char *cryo_copy_text(u64 from, size_t length);

#endif /* CRYO_LIB_ARGS_H */
