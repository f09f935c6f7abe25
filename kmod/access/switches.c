// SPDX-License-Identifier: GPL-2.0-only
/*
 * switches.c - what can be switched off
 *
 * Whoever asks for what is off gets what is done without it. All may be changed at any time: what
 * has begun by then, or is there, stays.
 */
#include <linux/module.h>

#include <cryo/ioctl.h>

#include "access/switches.h"
#include "compat/ksym.h"
#include "cryo_arch.h"

static bool allow_snapshot = true;
module_param_named(snapshot, allow_snapshot, bool, 0644);
MODULE_PARM_DESC(snapshot, "resume processes before their memory is written (default: yes)");

static bool allow_track = true;
module_param_named(track, allow_track, bool, 0644);
MODULE_PARM_DESC(track, "track what processes write between checkpoints (default: yes)");

static bool allow_map = true;
module_param_named(map, allow_map, bool, 0644);
MODULE_PARM_DESC(map, "load memory from the context on first access (default: yes)");

static bool allow_share;
module_param_named(share, allow_share, bool, 0644);
MODULE_PARM_DESC(share, "share pages between restarts from the same context (default: no)");

/*
 * The symbols that CRYO_FEATURE_SNAPSHOT stands for in ksym.c are what all but mapping needs, too.
 */
u64 cryo_features(void)
{
	u64 features = cryo_ksym_features();
	bool protects = features & CRYO_FEATURE_SNAPSHOT;

	if (!READ_ONCE(allow_snapshot))
		features &= ~CRYO_FEATURE_SNAPSHOT;
	if (!IS_ENABLED(CONFIG_MMU_NOTIFIER))
		return features & ~(CRYO_LEFT_OUT | CRYO_FEATURE_MAP);
	if (CRYO_ARCH_SOFT_DIRTY && protects && READ_ONCE(allow_track))
		features |= CRYO_FEATURE_TRACK;
	if (!READ_ONCE(allow_map))
		features &= ~CRYO_FEATURE_MAP;
	if (CRYO_ARCH_SHARE && protects && features & CRYO_FEATURE_MAP && READ_ONCE(allow_share))
		features |= CRYO_FEATURE_SHARE;
	return features & ~CRYO_LEFT_OUT;
}
