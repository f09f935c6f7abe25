/* SPDX-License-Identifier: GPL-2.0-only */
/* fdinfo.h - what an open file says about itself */
#ifndef CRYO_FDINFO_H
#define CRYO_FDINFO_H

#include <linux/types.h>

struct file;

/* fdinfo.c: what an open file says about itself in /proc/PID/fdinfo */
bool cryo_is_anon_file(struct file *file, const char *name);
char *cryo_fdinfo(struct file *file);

#endif /* CRYO_FDINFO_H */
