/* SPDX-License-Identifier: GPL-2.0-only */
/* args.h - structures and data that callers hand to an ioctl */
#ifndef CRYO_LIB_ARGS_H
#define CRYO_LIB_ARGS_H

#include <linux/types.h>

/* args.c */
int cryo_copy_args(void *args, size_t known, size_t least, void __user *from);
void *cryo_copy_data(u64 from, size_t length);
char *cryo_copy_text(u64 from, size_t length);

#endif /* CRYO_LIB_ARGS_H */
