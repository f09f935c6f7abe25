/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * consent.h - processes that let their own user checkpoint them despite Yama
 */
#ifndef CRYO_CONSENT_H
#define CRYO_CONSENT_H

#include <linux/types.h>

struct task_struct;

/**
 * cryo_consent_init() - find the fork() and exec() tracepoints
 */
void cryo_consent_init(void);

/**
 * cryo_consent_exit() - forget all processes that have consented
 *
 * The device is gone: no process can consent any more.
 *
 * Context: May sleep.
 */
void cryo_consent_exit(void);

/**
 * cryo_consent_feature() - can processes consent on this kernel?
 *
 * Return: CRYO_FEATURE_CONSENT, or 0.
 */
u64 cryo_consent_feature(void);

/**
 * cryo_consent() - CRYO_IOC_CONSENT
 * @arg: the argument of that call
 *
 * Return: whether the caller had consented before, or a negative errno.
 */
long cryo_consent(void __user *arg);

/**
 * cryo_has_consented() - has a process consented, and may it have?
 * @task: a thread of it, that is parked
 *
 * Return: true: so it has, as the only user that it has now.
 */
bool cryo_has_consented(struct task_struct *task);

/**
 * cryo_consented() - may the caller checkpoint a task that he may not trace?
 * @task: the task
 *
 * Context: May sleep.
 *
 * Return: true: Yama alone forbids that, and it has consented.
 */
bool cryo_consented(struct task_struct *task);

#endif /* CRYO_CONSENT_H */
