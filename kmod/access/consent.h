/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * consent.h - processes that let their own user checkpoint them where Yama would not
 */
#ifndef CRYO_CONSENT_H
#define CRYO_CONSENT_H

#include <linux/types.h>

struct task_struct;

void cryo_consent_init(void);
void cryo_consent_exit(void);

/* CRYO_FEATURE_CONSENT, or 0. */
u64 cryo_consent_feature(void);

/* CRYO_IOC_CONSENT */
long cryo_consent(void __user *arg);

/* May the caller checkpoint @task, which he may not trace, as Yama alone forbids that and it has consented? May sleep. */
bool cryo_consented(struct task_struct *task);

#endif /* CRYO_CONSENT_H */
