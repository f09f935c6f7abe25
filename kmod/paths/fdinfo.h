/* SPDX-License-Identifier: GPL-2.0-only */
/* fdinfo.h - the state of open files that /proc/PID/fdinfo shows */
#ifndef CRYO_FDINFO_H
#define CRYO_FDINFO_H

#include <linux/types.h>

struct file;

/* fdinfo.c */

/**
 * cryo_is_anon_file() - is an open file one of an anonymous inode, and of a certain kind?
 * @file: the file
 * @name: of the kind, as the kernel has it, e.g. "[eventpoll]": nothing else gives names there
 *
 * Return: true: it is, and it has show_fdinfo().
 */
bool cryo_is_anon_file(struct file *file, const char *name);

/**
 * cryo_fdinfo() - the text of an open file in /proc/PID/fdinfo
 * @file: the file
 *
 * Context: In the requester. May sleep, as show_fdinfo() of the file.
 *
 * Return: a string, for kvfree(); ERR_PTR(-EOPNOTSUPP): it has no show_fdinfo(); ERR_PTR(-EFBIG):
 * longer than FDINFO_MAX; ERR_PTR(-ENOMEM).
 */
char *cryo_fdinfo(struct file *file);

#endif /* CRYO_FDINFO_H */
