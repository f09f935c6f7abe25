/* SPDX-License-Identifier: GPL-2.0-only */
/* device.h - /dev/cryo, and the release of the module */
#ifndef CRYO_DEVICE_H
#define CRYO_DEVICE_H

#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/major.h>
#include <linux/miscdevice.h>

#define CRYO_RELEASE "0.1.0"

extern struct miscdevice cryo_device;	/* main.c */

/* Is @file, of a character device, ours? It may have been opened through any name. */
static inline bool cryo_is_device(struct file *file)
{
	return file_inode(file)->i_rdev == MKDEV(MISC_MAJOR, cryo_device.minor);
}

#endif /* CRYO_DEVICE_H */
