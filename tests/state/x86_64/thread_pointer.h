/* SPDX-License-Identifier: GPL-2.0-only */
/* thread_pointer.h - what a thread knows its place in the C library by */
static inline void *thread_pointer(void)
{
	return __builtin_thread_pointer();
}
