/* SPDX-License-Identifier: GPL-2.0-only */
/* aio.h - contexts of io_setup(2) */
#ifndef CRYO_AIO_H
#define CRYO_AIO_H

#include <linux/types.h>

struct cryo_capture;
struct cryo_proc;
struct mm_struct;

/* optional.c */

/**
 * cryo_mm_has_aio() - has an address space ever had a context of io_setup(2)?
 * @mm: the address space
 *
 * What it has now has to be looked up: see kmod/save/memory/aio.c.
 *
 * Return: true: it has; false: it has not, or the kernel is built without.
 */
bool cryo_mm_has_aio(struct mm_struct *mm);

#endif /* CRYO_AIO_H */
