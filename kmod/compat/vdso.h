/* SPDX-License-Identifier: GPL-2.0-only */
/* vdso/datapage.h: the clock data that the kernel passes to the vdso. */
#ifndef CRYO_COMPAT_VDSO_H
#define CRYO_COMPAT_VDSO_H

#include <linux/types.h>
#include <linux/version.h>
#include <vdso/clocksource.h>
#include <vdso/datapage.h>

/* Both were one structure before v6.15. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#define cryo_vdso_clock		vdso_clock
#define CRYO_VDSO_DATA_SIZE	sizeof(struct vdso_time_data)
#else
#define cryo_vdso_clock		vdso_data
#define CRYO_VDSO_DATA_SIZE	(CS_BASES * sizeof(struct vdso_data))
#endif

/*
 * A function that looks at a clock reads seq before and after, and asks the kernel when clock_mode
 * is VDSO_CLOCKMODE_NONE: one that began with the clock as it was begins anew, and does. In a time
 * namespace the page has offsets instead of clocks: false.
 */
static inline bool cryo_stop_vdso_clock(struct cryo_vdso_clock *clock)
{
	bool is_clock = clock->clock_mode != VDSO_CLOCKMODE_TIMENS;

	clock->seq = (clock->seq | 1) + 1;
	clock->clock_mode = VDSO_CLOCKMODE_NONE;
	return is_clock;
}

/* @data has CRYO_VDSO_DATA_SIZE bytes. */
static inline bool cryo_stop_vdso_clocks(void *data)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	struct vdso_time_data *time = data;
	struct vdso_clock *clocks = time->clock_data;
	int i;

	for (i = 0; i < ARRAY_SIZE(time->aux_clock_data); i++)
		cryo_stop_vdso_clock(&time->aux_clock_data[i]);
#else
	struct vdso_data *clocks = data;
	int i;
#endif
	for (i = 1; i < CS_BASES; i++)
		cryo_stop_vdso_clock(&clocks[i]);
	return cryo_stop_vdso_clock(&clocks[0]);
}

#endif
