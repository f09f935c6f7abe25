/* SPDX-License-Identifier: GPL-2.0-only */
/* thread_pointer.h - what a thread knows its place in the C library by */
static inline void *thread_pointer(void)
{
	void *pointer;

	__asm__("mr %0, 13" : "=r"(pointer));
	return pointer;
}
