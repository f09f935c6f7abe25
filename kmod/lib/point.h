/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * point.h - stop points and reduced limits for tests: see point.c
 */
#ifndef CRYO_POINT_H
#define CRYO_POINT_H

#ifdef CONFIG_CRYO_POINTS
#include <linux/compiler.h>
#include <linux/types.h>

void cryo_point(const char *name);

/*
 * Parameters: bounds that a test comes to, instead of those of the code, unless they are 0; and a
 * kernel that is not what it seems.
 */
extern unsigned int cryo_few_freeze_ms, cryo_few_tracks, cryo_few_places, cryo_few_table_bytes;
extern bool cryo_wrong_vma_changes;

#define cryo_few(name, bound) (READ_ONCE(cryo_few_##name) ?: (bound))
#define cryo_wrong(name) READ_ONCE(cryo_wrong_##name)
#else
#define cryo_point(name) do { } while (0)
#define cryo_few(name, bound) (bound)
#define cryo_wrong(name) false
#endif

#endif
