/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * access.h - permission checks on other tasks and files
 *
 * Every operation on another task, or with another's credentials, is checked here, where it is
 * performed, against the task's state at that moment. A result is valid for that moment only.
 * doc/security.md lists all such places; tests/lint/access finds calls that bypass this file.
 */
#ifndef CRYO_ACCESS_H
#define CRYO_ACCESS_H

#include <linux/types.h>

struct cred;
struct path;
struct pid;
struct task_struct;
struct user_namespace;

/*
 * Identity of a task when it was checked: what a result of cryo_may_trace() depends on and the task
 * can change.
 */
struct cryo_identity {
	const struct cred *cred;	/* counted */
	u64 exec_id;
	int dumpable;
};

/**
 * cryo_may_trace() - may the caller see all of a task, and change it, as by ptrace(2)?
 * @task: any task
 *
 * With Yama, unless it has consented (consent.h), dumpable and Landlock.
 *
 * Context: May sleep: while @task is in exec(), for a second at most.
 *
 * Return: true: he may, at this moment.
 */
bool cryo_may_trace(struct task_struct *task);

/**
 * cryo_may_trace_now() - the same without that wait, for any user's processes
 * @task: any task
 *
 * Context: May sleep.
 *
 * Return: false also of one in exec().
 */
bool cryo_may_trace_now(struct task_struct *task);

/**
 * cryo_may_read_as() - may another process than the caller see all of a task?
 * @cred: his credentials
 * @task: any task
 *
 * Does not consult Yama, which judges by the caller: so only in addition to cryo_may_trace().
 *
 * Context: May sleep, likewise.
 *
 * Return: true: he may.
 */
bool cryo_may_read_as(const struct cred *cred, struct task_struct *task);

/**
 * cryo_may_see() - would the caller see in a /proc with hidepid that there is a task, and what it
 *	is called?
 * @task: any task
 *
 * Return: true: he would.
 */
bool cryo_may_see(struct task_struct *task);

/**
 * cryo_may_see_creds() - may the caller know all credentials of a subject whose process may no
 *	longer exist?
 * @cred: the credentials
 *
 * Return: true: they are the caller's own (of a process he started), or he could assume them.
 */
bool cryo_may_see_creds(const struct cred *cred);

/**
 * cryo_identity_note() - record a task's identity, before cryo_may_trace()
 * @id: gets that, for cryo_identity_put()
 * @task: the task
 */
void cryo_identity_note(struct cryo_identity *id, struct task_struct *task);

/**
 * cryo_identity_is_same() - does the answer of then still hold?
 * @id: of cryo_identity_note()
 *
 * Context: In the task itself.
 *
 * Return: true: credentials, program and dumpable are those of then.
 */
bool cryo_identity_is_same(const struct cryo_identity *id);

/**
 * cryo_identity_put() - give references back
 * @id: of cryo_identity_note()
 */
void cryo_identity_put(struct cryo_identity *id);

/**
 * cryo_maker_capable() - has the maker of a handle a capability?
 * @maker: the credentials that a handle was made with
 * @ns: in which user namespace
 * @cap: CAP_*
 *
 * Return: true: he has.
 */
bool cryo_maker_capable(const struct cred *maker, struct user_namespace *ns, int cap);

/**
 * cryo_cred_has_no_more() - does a task have no more privileges than @cred?
 * @cred: his credentials
 * @task: the task
 *
 * Return: true: in all its user ids and capabilities; or @cred may signal it anyway.
 */
bool cryo_cred_has_no_more(const struct cred *cred, struct task_struct *task);

/**
 * cryo_may_open_as() - may a task that is not the caller do something with a file?
 * @task: the task
 * @path: of the file
 * @mask: what: MAY_READ ...
 *
 * By its mode and ACL; not asked of a server.
 *
 * Context: May sleep.
 *
 * Return: true: it may.
 */
bool cryo_may_open_as(struct task_struct *task, const struct path *path, int mask);

/**
 * cryo_kill_as() - kill(2), with the rights of another process
 * @sender: his credentials
 * @tgid: the process
 * @signal: the signal; 0: could it be sent?
 *
 * Return: 0, -EPERM or -ESRCH.
 */
int cryo_kill_as(const struct cred *sender, struct pid *tgid, int signal);

/**
 * cryo_raise_own_cap() - give the caller a capability in his own user namespace
 * @cap: CAP_*, that he may lack
 *
 * Nothing else changes: for what another process has been found to be entitled to.
 *
 * Context: May sleep.
 *
 * Return: what cryo_drop_own_cap() takes, or an ERR_PTR.
 */
const struct cred *cryo_raise_own_cap(int cap);

/**
 * cryo_drop_own_cap() - take it away again
 * @own: of cryo_raise_own_cap()
 */
void cryo_drop_own_cap(const struct cred *own);

#endif /* CRYO_ACCESS_H */
