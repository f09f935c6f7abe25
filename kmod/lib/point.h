/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * point.h - places to die: see point.c
 */
#ifndef CRYO_POINT_H
#define CRYO_POINT_H

#ifdef CONFIG_CRYO_POINTS
void cryo_point(const char *name);
#else
#define cryo_point(name) do { } while (0)
#endif

#endif
