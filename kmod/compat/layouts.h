/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * layouts.h - does this kernel keep its private structures where compat/ looks for them?
 *
 * layout_list.h has what is compared, when the module is loaded. What is of a group that differs
 * must not be looked at.
 */
#ifndef CRYO_COMPAT_LAYOUTS_H
#define CRYO_COMPAT_LAYOUTS_H

#include <linux/kconfig.h>
#include <linux/types.h>
#include <linux/version.h>

#define GROUP(group, without)	CRYO_LAYOUT_##group,
#define MEMBER(...)
#define PLACE(...)
#define BIT_BEHIND(...)
#define SIZE(...)
#define CONSTANT(...)
#define FUNCTION(...)
enum cryo_layout {
#include "layout_list.h"
	CRYO_NR_LAYOUTS
};

void cryo_layouts_init(void);

/* Also where the kernel has no type information, see cryo_layouts_init(). */
bool cryo_layout_fits(enum cryo_layout layout);

/* Is the function known to have another prototype than it is called with? */
bool cryo_prototype_differs(const char *function);

#endif
