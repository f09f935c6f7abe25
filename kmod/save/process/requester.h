/* SPDX-License-Identifier: GPL-2.0-only */
/* requester.h - the place of a requester that checkpoints its own job */
#ifndef CRYO_REQUESTER_H
#define CRYO_REQUESTER_H

#include <linux/types.h>

struct cryo_capture;
struct kernel_siginfo;

/* requester.c */
int cryo_requester_begin(struct cryo_capture *c);
int cryo_requester_pipes(struct cryo_capture *c);
void cryo_requester_shares(struct cryo_capture *c);
int cryo_requester_signal(struct cryo_capture *c, struct cryo_proc *p, struct kernel_siginfo *info);
void cryo_requester_end(struct cryo_capture *c);

#endif /* CRYO_REQUESTER_H */
