/* SPDX-License-Identifier: GPL-2.0-only */
/* requester.h - the place in the context of a requester that is a child of the job */
#ifndef CRYO_REQUESTER_H
#define CRYO_REQUESTER_H

#include <linux/types.h>

struct cryo_capture;
struct kernel_siginfo;

/* requester.c */

/**
 * cryo_requester_begin() - give the requester a place in the context, if its parent is in the scope
 *	and waits for it
 * @c: the capture; its @stand_in and @waits_for_requester are set then
 *
 * The entry, of a process that has ended with status 0, is one of @c->req->procs until
 * cryo_requester_end().
 *
 * Context: In the requester, with all threads of the scope parked. May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int cryo_requester_begin(struct cryo_capture *c);

/**
 * cryo_requester_pipes() - count the requester's ends of pipes that the job has, too, as ends in
 *	the scope
 * @c: the capture; nothing is done without @stand_in
 *
 * After a restart they are closed, and do not lead outside.
 *
 * Context: In the requester, after all descriptors have been collected. May sleep.
 *
 * Return: 0; -ENOMEM; or an error of cryo_capture_interrupted().
 */
int cryo_requester_pipes(struct cryo_capture *c);

/**
 * cryo_requester_shares() - count references to open files that the requester, and those between it
 *	and the job, have
 * @c: the capture
 *
 * These end when the command does, and write nothing more. Nothing is done if the requester is in
 * the scope.
 *
 * Context: In the requester, when all references of the scope have been counted, and before
 * cryo_classify_files(). May sleep.
 */
void cryo_requester_shares(struct cryo_capture *c);

int cryo_requester_signal(struct cryo_capture *c, struct cryo_proc *p, struct kernel_siginfo *info);

/**
 * cryo_requester_end() - free the entry of cryo_requester_begin()
 * @c: the capture; it need not have one
 *
 * Context: In the requester, when all is described, also after an error.
 */
void cryo_requester_end(struct cryo_capture *c);

#endif /* CRYO_REQUESTER_H */
