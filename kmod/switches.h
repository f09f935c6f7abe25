/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * switches.h - parts that change memory by hand can be switched off, each by a module parameter
 */
#ifndef CRYO_SWITCHES_H
#define CRYO_SWITCHES_H

#include <linux/types.h>

/* CRYO_FEATURE_* bits: what this kernel allows, and is not switched off. */
u64 cryo_features(void);

/* Any of them? May change at any time: what has begun goes on. */
static inline bool cryo_has(u64 feature)
{
	return cryo_features() & feature;
}

#endif
