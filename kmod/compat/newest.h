/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * newest.h - the newest kernel that this version has been tested on
 *
 * The only place that says so: Kbuild, configure and the tools read it here. A kernel that is newer
 * may keep what compat/ looks into in another way, so the module neither builds nor loads there
 * unless told otherwise.
 */
#ifndef CRYO_COMPAT_NEWEST_H
#define CRYO_COMPAT_NEWEST_H

#ifndef CRYO_NEWEST_KERNEL_MAJOR
#define CRYO_NEWEST_KERNEL_MAJOR	7
#define CRYO_NEWEST_KERNEL_MINOR	2
#endif

#endif
