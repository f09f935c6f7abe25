/* SPDX-License-Identifier: GPL-2.0-only */
/* ns.h - namespaces, and what is in them */
#ifndef CRYO_SAVE_NS_H
#define CRYO_SAVE_NS_H

#include <linux/types.h>

struct cryo_capture;
struct cryo_proc;

/* namespaces.c: in which namespaces a process is, and what they hold */
int cryo_check_namespaces(struct cryo_capture *c, struct cryo_proc *p);
int cryo_save_zombie_namespaces(struct cryo_capture *c, struct cryo_proc *p);

#endif /* CRYO_SAVE_NS_H */
