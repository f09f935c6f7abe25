/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* format_events.h - the part of format.h about eventfds, timerfds, signalfds, io_uring, inotify, fanotify and pidfds */
#ifndef _UAPI_CRYO_FORMAT_EVENTS_H
#define _UAPI_CRYO_FORMAT_EVENTS_H

#include <linux/types.h>

struct cryo_eventfd {
	__u64 count;
	__u32 semaphore;
	__u32 reserved;
};

/* Times to an expiry are cut to this, either way: 73 years. */
#define CRYO_MAX_REMAINING_NS	(1LL << 61)

#define CRYO_TIMERFD_ARMED	(1U << 0)	/* going to expire; else disarmed, or expired and not read yet */

struct cryo_timerfd {
	__s32 clockid;			/* CLOCK_* */
	__u32 settime_flags;		/* TFD_TIMER_* of the last timerfd_settime(2) */
	__u64 ticks;			/* expirations counted and not read */
	__s64 remaining_ns;		/* to the next expiry, or, when negative, since the last one */
	__u64 interval_ns;
	__u32 flags;			/* CRYO_TIMERFD_* */
	__u32 reserved;
};

struct cryo_signalfd {
	__u64 mask;			/* bit N-1 is signal N */
};

/*
 * What a ring may have been set up with: IORING_SETUP_ IOPOLL, SQPOLL, SQ_AFF, CQSIZE, CLAMP, R_DISABLED (it
 * still is), SUBMIT_ALL, COOP_TASKRUN, TASKRUN_FLAG, SQE128, CQE32, SINGLE_ISSUER, DEFER_TASKRUN, NO_SQARRAY.
 */
#define CRYO_URING_FLAGS	0x13fdfU
#define CRYO_URING_SQPOLL	(1U << 1)
#define CRYO_URING_SQ_AFF	(1U << 2)
#define CRYO_URING_R_DISABLED	(1U << 6)
#define CRYO_URING_SQE128	(1U << 10)
#define CRYO_URING_CQE32	(1U << 11)
#define CRYO_URING_SINGLE_ISSUER	(1U << 12)
#define CRYO_URING_NO_SQARRAY	(1U << 16)

#define CRYO_URING_MAX_SQ	32768
#define CRYO_URING_MAX_CQ	65536

/*
 * Tail: @cq_entries completions of 16 bytes (32 with CQE32); @sq_entries numbers of submissions, u32 each
 * (none with NO_SQARRAY); and @sq_entries submissions of 64 bytes (128 with SQE128).
 */
struct cryo_uring {
	__u32 flags;			/* IORING_SETUP_*, those in CRYO_URING_FLAGS */
	__u32 sq_entries;		/* powers of 2 */
	__u32 cq_entries;
	__u32 sq_head, sq_tail;		/* as they count on, not masked */
	__u32 cq_head, cq_tail;
	__u32 sq_dropped;
	__u32 cq_overflow;
	__u32 cq_flags;			/* IORING_CQ_* */
	__u32 eventfd;			/* file id of what is told of completions; 0: none */
	__u32 eventfd_async;		/* IORING_REGISTER_EVENTFD_ASYNC */
	__u32 sq_offsets[7];		/* struct io_sqring_offsets up to array, which is 0 without one */
	__u32 cq_offsets[7];		/* struct io_cqring_offsets up to flags */
	/* SINGLE_ISSUER: the only thread that may submit; 0: it has exited, or the ring is not enabled. */
	__s32 issuer;
	__u32 sq_idle_ms;		/* SQPOLL: how long the kernel's thread looks for more before it sleeps */
	__u32 sq_cpu;			/* SQ_AFF: where that runs */
	__u32 reserved[3];
};

struct cryo_inotify {
	__u32 watches;
	__u32 next_wd;			/* number of the next watch, at least */
};

/* Where next_wd, and each wd, ends: those before are taken and given back, one after the other. */
#define CRYO_HIGHEST_WATCH	(1U << 20)

/* Followed by the path. */
struct cryo_watch {
	__u32 wd;
	__u32 mask;			/* IN_* */
	__u64 dev;			/* of the inode, as makedev() of userspace packs it */
	__u64 ino;
	__u32 path_len;			/* bytes */
	__u32 reserved;
};

/* What has not been read. Followed by the name. */
struct cryo_inotify_event {
	__s32 wd;			/* may be that of a watch that has gone; -1: of none (IN_Q_OVERFLOW) */
	__u32 mask;			/* IN_* */
	__u32 cookie;
	__u32 name_len;			/* bytes, up to CRYO_MAX_EVENT_NAME; 0: none */
};

#define CRYO_MAX_EVENT_NAME	4095
/* IN_ALL_EVENTS, IN_UNMOUNT, IN_Q_OVERFLOW, IN_IGNORED and IN_ISDIR */
#define CRYO_INOTIFY_EVENTS	0x4000efffU

#define CRYO_FANOTIFY_UNPRIVILEGED	(1U << 0)	/* made without CAP_SYS_ADMIN: events do not tell of pids */

struct cryo_fanotify {
	__u32 init_flags;		/* FAN_*, as fanotify_init(2) got them */
	__u32 event_flags;		/* O_*, of descriptors in events */
	__u32 marks;
	__u32 flags;			/* CRYO_FANOTIFY_* */
};

#define CRYO_MARK_INODE		1	/* of what the path leads to */
#define CRYO_MARK_MOUNT		2	/* of the mount whose root the path leads to */
#define CRYO_MARK_FILESYSTEM	3	/* of that mount's file system */

/* Followed by the path. */
struct cryo_mark {
	__u32 kind;			/* CRYO_MARK_* */
	__u32 flags;			/* FAN_MARK_IGNORED_SURV_MODIFY, FAN_MARK_EVICTABLE, FAN_MARK_IGNORE */
	__u32 mask;			/* FAN_* */
	__u32 ignored;			/* FAN_* */
	__u64 dev;			/* as makedev() of userspace packs it */
	__u64 ino;			/* CRYO_MARK_INODE */
	__u32 path_len;			/* bytes */
	__u32 reserved;
};

#define CRYO_PIDFD_THREAD	(1U << 0)	/* PIDFD_THREAD: of the first thread, not of the process */

struct cryo_pidfd {
	__s32 pid;			/* 0: of a process that has been waited for */
	__u32 flags;			/* CRYO_PIDFD_* */
};

#endif /* _UAPI_CRYO_FORMAT_EVENTS_H */
