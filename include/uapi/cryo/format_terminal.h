/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* format_terminal.h - the part of format.h about terminals */
#ifndef _UAPI_CRYO_FORMAT_TERMINAL_H
#define _UAPI_CRYO_FORMAT_TERMINAL_H

#include <linux/types.h>

#define CRYO_PTY_LOCKED			(1U << 0)	/* TIOCSPTLCK */
#define CRYO_PTY_PACKET			(1U << 1)	/* TIOCPKT */
#define CRYO_PTY_EXCLUSIVE		(1U << 2)	/* TIOCEXCL of the slave */
#define CRYO_PTY_EXCLUSIVE_MASTER	(1U << 3)
#define CRYO_PTY_STOPPED		(1U << 4)	/* its output, by the STOP character */
#define CRYO_PTY_SUSPENDED		(1U << 5)	/* its output, by tcflow() */
#define CRYO_PTY_SUSPENDED_MASTER	(1U << 6)	/* what the master writes, by tcflow() */
#define CRYO_PTY_SLAVE_CLOSED		(1U << 7)	/* the last one open has been closed: the master reads EIO */

/*
 * Tail: @output bytes that the slave has written and the master not read; @input bytes that the
 * line discipline has for the slave's readers, then as many that are 1 for each byte that ends a
 * line (a NUL byte: an end of file); @pending bytes that the line discipline had no room for.
 */
struct cryo_pty {
	__u32 number;			/* /dev/pts/N */
	__u32 flags;			/* CRYO_PTY_LOCKED ... */
	__s32 sid;			/* session that it controls, 0: none */
	__s32 pgid;			/* its foreground group */
	__u32 iflag, oflag, cflag, lflag;	/* struct termios2 */
	__u32 ispeed, ospeed;
	__u8  cc[32];
	__u16 rows, columns, xpixels, ypixels;	/* TIOCGWINSZ */
	__u32 output;
	__u32 input;
	__u32 pending;
	__u32 reserved;
};

#define CRYO_PTY_HUNG_UP	(1U << 0)	/* no terminal behind it any more */
#define CRYO_PTY_DEV_TTY	(1U << 1)	/* opened as /dev/tty */

struct cryo_pty_slave {
	__u32 master;			/* file id of the master; 0: HUNG_UP */
	__u32 flags;			/* CRYO_PTY_HUNG_UP ... */
};

/* The controlling terminal of a process, unless its master is in the context: of the first process that has one. */
struct cryo_terminal {
	__s32 pgid;			/* its foreground group; 0: none, or one of another pid namespace */
	__u32 reserved;
	__u32 iflag, oflag, cflag, lflag;	/* struct termios2 */
	__u32 ispeed, ospeed;
	__u8  cc[32];
	__u16 rows, columns, xpixels, ypixels;	/* TIOCGWINSZ */
};

#endif /* _UAPI_CRYO_FORMAT_TERMINAL_H */
