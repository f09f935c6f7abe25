/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * exceptions.h - operations allowed to unprivileged users that the kernel reserves to capabilities
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

/**
 * cryo_exception() - may the caller do what the kernel reserves to a capability?
 * @what: the exception
 * @ns: the user namespace in which the capability would be needed
 *
 * Return: true: the exception is made for all, or he has the capability.
 */
bool cryo_exception(enum cryo_exception what, struct user_namespace *ns);

/**
 * cryo_exception_capable() - the same, whatever the parameter of the module says
 * @what: the exception
 * @ns: the user namespace in which the capability would be needed
 *
 * Return: true: he has the capability.
 */
bool cryo_exception_capable(enum cryo_exception what, struct user_namespace *ns);

/**
 * cryo_exception_by() - the same as cryo_exception(), where the capability of the handle's maker
 *	counts as well
 * @maker: the maker of the handle that the caller uses
 * @what: the exception
 * @ns: the user namespace in which the capability would be needed
 *
 * Return: true: one of them may.
 */
bool cryo_exception_by(const struct cred *maker, enum cryo_exception what,
		       struct user_namespace *ns);

/*
 * CRYO_FEATURE_* bits that depend on nothing else, and of those exceptions that are switched off.
 */
#define CRYO_FEATURES_OF_EXCEPTIONS	(CRYO_FEATURE_PID_CHOICE | CRYO_FEATURE_IPC_ID_CHOICE | \
					 CRYO_FEATURE_PEER_PID | CRYO_FEATURE_TIME_WAIT_PORTS)

/**
 * cryo_exceptions_off() - which exceptions are switched off
 *
 * Return: their CRYO_FEATURE_* bits.
 */
u64 cryo_exceptions_off(void);

/**
 * cryo_is_descendant() - has a task come from a process, by fork() or as an orphan?
 * @ancestor: the process
 * @task: the task
 *
 * Context: May sleep.
 *
 * Return: true: it has.
 */
bool cryo_is_descendant(struct pid *ancestor, struct task_struct *task);

#endif /* CRYO_EXCEPTIONS_H */
