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

void cryo_use_begin(enum cryo_use what);
void cryo_use_end(enum cryo_use what);

void cryo_in_use_init(void);
void cryo_in_use_exit(void);

#endif /* CRYO_LIB_IN_USE_H */
