/* SPDX-License-Identifier: GPL-2.0-only */
/* watch.h - what a victim of the hostile tests shares with the test */
#ifndef WATCH_H
#define WATCH_H

struct watch {
#ifdef __cplusplus
	volatile unsigned long ticks, errors;
	volatile int ready;
#else
	_Atomic unsigned long ticks, errors;
	_Atomic int ready;	/* its pid, once it is set up */
#endif
};

#endif /* WATCH_H */
