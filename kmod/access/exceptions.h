/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * exceptions.h - what ordinary users may do here, and the kernel reserves to capabilities
 */
#ifndef CRYO_EXCEPTIONS_H
#define CRYO_EXCEPTIONS_H

#include <linux/types.h>

struct cred;
struct pid;
struct task_struct;
struct user_namespace;

enum cryo_exception {
	CRYO_EXCEPTION_PID_CHOICE,
	CRYO_EXCEPTION_IPC_ID_CHOICE,
	CRYO_EXCEPTION_EXE_LINK,
	CRYO_EXCEPTION_PEER_PID,
	CRYO_EXCEPTION_DATAGRAMS,
	CRYO_EXCEPTION_TIME_WAIT_PORTS,
	CRYO_EXCEPTION_CONSENT,
	CRYO_NR_EXCEPTIONS
};

/* May the caller do it, as the exception is made for all, or since he has the capability for it in @ns? */
bool cryo_exception(enum cryo_exception what, struct user_namespace *ns);

/* The same, whatever the module's parameter says. */
bool cryo_exception_capable(enum cryo_exception what, struct user_namespace *ns);

/* The same as cryo_exception(), where the capability of @maker, who made the handle that the caller uses, counts as well. */
bool cryo_exception_by(const struct cred *maker, enum cryo_exception what,
		       struct user_namespace *ns);

/* CRYO_FEATURE_* bits that depend on nothing else, and of those exceptions that are switched off. */
#define CRYO_FEATURES_OF_EXCEPTIONS	(CRYO_FEATURE_PID_CHOICE | CRYO_FEATURE_IPC_ID_CHOICE | \
					 CRYO_FEATURE_PEER_PID | CRYO_FEATURE_TIME_WAIT_PORTS)
u64 cryo_exceptions_off(void);

/* Has @task come from the thread group @ancestor, by fork() or as an orphan? May sleep. */
bool cryo_is_descendant(struct pid *ancestor, struct task_struct *task);

#endif /* CRYO_EXCEPTIONS_H */
