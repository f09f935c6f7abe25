/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * access.h - who may do what to whom
 *
 * Everything that the module does to another task, or with the credentials of somebody who is not the caller, is asked
 * here: at the place where it is done, of the task as it is at that moment.  An answer is good for that
 * moment only.  doc/security.md has the table of all such places; tests/lint/access finds calls that
 * go round this file.
 */
#ifndef CRYO_ACCESS_H
#define CRYO_ACCESS_H

#include <linux/types.h>

struct cred;
struct pid;
struct task_struct;
struct user_namespace;

/* May the caller see all of @task, and change it, as by ptrace(2)? With Yama, dumpable and Landlock. May sleep. */
bool cryo_may_trace(struct task_struct *task);

/* Has @maker, not the caller, @cap in @ns? @maker: the credentials that a handle was made with. */
bool cryo_maker_capable(const struct cred *maker, struct user_namespace *ns, int cap);

/* Sends @signal to the process @tgid with the rights of @sender, as kill(2) by it. */
int cryo_kill_as(const struct cred *sender, struct pid *tgid, int signal);

/*
 * Between the two the caller, who may lack it, has @cap in his own user namespace, and nothing else changes: for what
 * somebody else has been found to be entitled to.  The first returns what the second takes, or an ERR_PTR.
 */
const struct cred *cryo_raise_own(int cap);
void cryo_drop_own(const struct cred *own);

#endif /* CRYO_ACCESS_H */
