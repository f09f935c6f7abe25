/* SPDX-License-Identifier: GPL-2.0-only */
/* paths.h - where paths lead, and a /proc of our own */
#ifndef CRYO_PATHS_PATHS_H
#define CRYO_PATHS_PATHS_H

#include <linux/types.h>

struct cryo_capture;
struct file;

/* own_proc.c: a proc file system for the capture alone */
struct file *cryo_proc_open(struct cryo_capture *c, const char *name);
void cryo_proc_free(struct cryo_capture *c);

#endif /* CRYO_PATHS_PATHS_H */
