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
struct path;
struct pid;
struct task_struct;
struct user_namespace;

/* Who a task was when it was asked about: what an answer of cryo_may_trace() hangs on and the task itself can change. */
struct cryo_identity {
	const struct cred *cred;	/* counted */
	u64 exec_id;
	int dumpable;
};

/*
 * May the caller see all of @task, and change it, as by ptrace(2)? With Yama, unless
 * @task has consented (consent.h), dumpable and Landlock. May sleep: while @task is in exec(), for a second at most.
 */
bool cryo_may_trace(struct task_struct *task);

/* The same without that wait, of anybody's processes: "no" of one in exec(). May sleep. */
bool cryo_may_trace_now(struct task_struct *task);

/*
 * May @cred, which is not the caller's, see all of @task? Not asked of Yama, which goes by who the caller is: so only beside
 * cryo_may_trace().
 */
bool cryo_may_read_as(const struct cred *cred, struct task_struct *task);

/* Would the caller see in a /proc with hidepid that there is @task, and what it is called? */
bool cryo_may_see(struct task_struct *task);

/*
 * May the caller know all of @cred, of somebody whose process need not be there any more? It is his own (he has started what has them), or
 * he could take them.
 */
bool cryo_may_see_creds(const struct cred *cred);

/*
 * Before cryo_may_trace(); then cryo_identity_is_same(), in the task itself, says whether the answer still holds: credentials,
 * program and dumpable are those of then.
 */
void cryo_identity_note(struct cryo_identity *id, struct task_struct *task);
bool cryo_identity_is_same(const struct cryo_identity *id);
void cryo_identity_put(struct cryo_identity *id);

/* Has @maker, not the caller, @cap in @ns? @maker: the credentials that a handle was made with. */
bool cryo_maker_capable(const struct cred *maker, struct user_namespace *ns, int cap);

/* Is @task, in all of its user ids and capabilities, no more than @cred, or somebody whom who has that may signal in any case? */
bool cryo_cred_has_no_more(const struct cred *cred, struct task_struct *task);

/* May @task, not the caller, do what @mask says (MAY_READ ...) with what is at @path? By its mode and ACL; not asked of a server. */
bool cryo_may_open_as(struct task_struct *task, const struct path *path, int mask);

/* Sends @signal to the process @tgid with the rights of @sender, as kill(2) by it. */
int cryo_kill_as(const struct cred *sender, struct pid *tgid, int signal);

/*
 * Between the two the caller, who may lack it, has @cap in his own user namespace, and nothing else changes: for what
 * somebody else has been found to be entitled to.  The first returns what the second takes, or an ERR_PTR.
 */
const struct cred *cryo_raise_own_cap(int cap);
void cryo_drop_own_cap(const struct cred *own);

#endif /* CRYO_ACCESS_H */
