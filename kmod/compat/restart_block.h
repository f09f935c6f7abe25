/* SPDX-License-Identifier: GPL-2.0-only */
/* linux/restart_block.h: where poll(2) keeps its end. */
#ifndef CRYO_COMPAT_RESTART_BLOCK_H
#define CRYO_COMPAT_RESTART_BLOCK_H

#include <linux/restart_block.h>
#include <linux/time64.h>
#include <linux/version.h>

/* One struct timespec64 in v7.2, two numbers in v6.12. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
static inline struct timespec64 cryo_poll_end(const struct restart_block *rb)
{
	return rb->poll.end_time;
}

static inline void cryo_set_poll_end(struct restart_block *rb, struct timespec64 end)
{
	rb->poll.end_time = end;
}
#else
static inline struct timespec64 cryo_poll_end(const struct restart_block *rb)
{
	return (struct timespec64){ rb->poll.tv_sec, rb->poll.tv_nsec };
}

static inline void cryo_set_poll_end(struct restart_block *rb, struct timespec64 end)
{
	rb->poll.tv_sec = end.tv_sec;
	rb->poll.tv_nsec = end.tv_nsec;
}
#endif

#endif
