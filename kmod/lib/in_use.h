/* SPDX-License-Identifier: GPL-2.0-only */
/* in_use.h - per-kind counts of objects that pin the module, for the administrator */
#ifndef CRYO_LIB_IN_USE_H
#define CRYO_LIB_IN_USE_H

enum cryo_use {
	CRYO_USE_CHECKPOINT,
	CRYO_USE_RESTART,
	CRYO_USE_PARTICIPANT,
	CRYO_USE_MEMORY,
	CRYO_NR_USES
};

/**
 * cryo_use_begin() - count one more object that pins the module
 * @what: its kind
 */
void cryo_use_begin(enum cryo_use what);

/**
 * cryo_use_end() - count one less
 * @what: its kind
 */
void cryo_use_end(enum cryo_use what);

/**
 * cryo_in_use_init() - create the directory in debugfs that has the counts
 *
 * Context: In the module's init. A kernel without debugfs is no error.
 */
void cryo_in_use_init(void);

/**
 * cryo_in_use_exit() - remove it
 *
 * Context: In the module's exit.
 */
void cryo_in_use_exit(void);

#endif /* CRYO_LIB_IN_USE_H */
