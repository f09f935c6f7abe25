/* SPDX-License-Identifier: GPL-2.0-only */
/* paths.h - where paths lead, and a /proc of our own */
#ifndef CRYO_PATHS_PATHS_H
#define CRYO_PATHS_PATHS_H

#include <linux/types.h>

struct cryo_capture;
struct file;

/* own_proc.c: a proc file system for the capture alone */

/**
 * cryo_proc_open() - open a file of proc(5), in an instance that only the capture has
 * @c: the capture, which keeps the instance until cryo_proc_free()
 * @name: path in it, e.g. "PID/mountinfo", by pids of the requester's namespace
 *
 * What is mounted at /proc is not used, as a user may have mounted it.
 *
 * Context: In the requester. May sleep.
 *
 * Return: the open file, for fput(); ERR_PTR(-ENODEV): there is no proc file system; or another
 * ERR_PTR, of mounting or opening it.
 */
struct file *cryo_proc_open(struct cryo_capture *c, const char *name);

/**
 * cryo_proc_free() - drop the instance of proc(5) of a capture
 * @c: the capture; it need not have one
 */
void cryo_proc_free(struct cryo_capture *c);

#endif /* CRYO_PATHS_PATHS_H */
