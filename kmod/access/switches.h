/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * switches.h - parts that change memory by hand can be switched off, each by a module parameter
 */
#ifndef CRYO_SWITCHES_H
#define CRYO_SWITCHES_H

#include <linux/kconfig.h>
#include <linux/types.h>

#include <cryo/ioctl.h>

#include "cryo_arch.h"

/* Not even there: see Kbuild, and the architecture. */
#define CRYO_LEFT_OUT \
	((IS_ENABLED(CONFIG_CRYO_WITHOUT_snapshot) ? CRYO_FEATURE_SNAPSHOT : 0) | \
	 (IS_ENABLED(CONFIG_CRYO_WITHOUT_track) ? CRYO_FEATURE_TRACK : 0) | \
	 (IS_ENABLED(CONFIG_CRYO_WITHOUT_map) ? CRYO_FEATURE_MAP | CRYO_FEATURE_SHARE : 0) | \
	 (IS_ENABLED(CONFIG_CRYO_WITHOUT_share) || !CRYO_ARCH_SHARE ? CRYO_FEATURE_SHARE : 0))

/**
 * cryo_features() - what this kernel allows, and is not switched off
 *
 * May change at any time: operations in progress complete.
 *
 * Return: CRYO_FEATURE_* bits.
 */
u64 cryo_features(void);

/* May change at any time: what has begun goes on. */
static inline bool cryo_has(u64 feature)
{
	return feature & ~CRYO_LEFT_OUT && cryo_features() & feature;
}

#endif
