/* SPDX-License-Identifier: GPL-2.0-only */
/* ns.h - namespaces, and what is in them */
#ifndef CRYO_SAVE_NS_H
#define CRYO_SAVE_NS_H

#include <linux/types.h>

struct cryo_capture;
struct cryo_proc;

/* namespaces.c: in which namespaces a process is, and what they hold */
int cryo_check_namespaces(struct cryo_capture *c, struct cryo_proc *p);

/**
 * cryo_save_zombie_namespaces() - add the pid namespace of a process that has exited
 * @c: the capture
 * @p: the process, a zombie, which has left all other namespaces
 *
 * Nothing if that is the requester's.
 *
 * Context: In the requester. May sleep.
 *
 * Return: 0; -ENOMEM, -E2BIG or -EFBIG.
 */
int cryo_save_zombie_namespaces(struct cryo_capture *c, struct cryo_proc *p);

#endif /* CRYO_SAVE_NS_H */
