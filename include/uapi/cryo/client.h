/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * client.h - processes that take part in their own checkpoint
 *
 * A process makes a client handle and has a thread, its helper, wait in
 * CRYO_CLIENT_WAIT.  When a checkpoint finds the process in its scope, the call
 * returns, before anything is frozen; the helper does what has to be done, and
 * votes.  CRYO_CLIENT_VOTE returns when the checkpoint is over, and returns
 * anew in the process that a restart makes of it.
 *
 * The rules of ioctl.h for structures and errors apply.
 */
#ifndef _UAPI_CRYO_CLIENT_H
#define _UAPI_CRYO_CLIENT_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include <cryo/ioctl.h>

/*
 * On /dev/cryo: CRYO_IOC_CLIENT registers the calling process; returns a client handle
 * (close-on-exec). Closing it ends the registration, unless a thread is in WAIT; so do exec and the
 * end of the process. Closing it between WAIT and VOTE is a vote for TEMPORARY, if the thread that
 * was in WAIT lives on. A child made by fork() has the descriptor, but is not registered by it.
 *
 * With CRYO_CLIENT_RESTARTED the handle is of a process that is being restarted:
 * it belongs to the first process that claims it, waits or votes with it, and the first vote
 * returns at once that this is a restart.  @requester, @source (user pointer to
 * @source_len bytes, at most CRYO_CLIENT_SOURCE_MAX) and @facts (to @facts_len bytes, at most
 * CRYO_CLIENT_FACTS_MAX) are what CRYO_CLIENT_RESTART_INFO tells.
 *
 * Errors: ENOSPC the process has CRYO_MAX_CLIENTS handles, or the user CRYO_MAX_USER_CLIENTS and no
 * CAP_SYS_RESOURCE. The first is an error of the call that makes a handle of CRYO_CLIENT_RESTARTED
 * that of its process, too.
 *
 * The facts are strings, each NUL-terminated, of which the first character says what follows:
 * CRYO_FACT_VARIABLE a variable of the requester's environment, CRYO_FACT_OLD_PATH a path that the
 * restart has moved (no slash at the end, so the root is empty), with CRYO_FACT_NEW_PATH next to
 * it. The module does not look into them.
 */
#define CRYO_IOC_CLIENT		_IO(CRYO_IOC_TYPE, 0x7c)

#define CRYO_CLIENT_OMIT	(1U << 0)	/* leave the process out of every checkpoint, ask
						 * nobody */
#define CRYO_CLIENT_RESTARTED	(1U << 1)
#define CRYO_CLIENT_HOLDS	(1U << 2)	/* with RESTARTED: threads with CRYO_RESUME_HELD
						 * wait for the helper */
#define CRYO_CLIENT_FLAGS	((1U << 3) - 1)

#define CRYO_MAX_CLIENTS	64
#define CRYO_MAX_USER_CLIENTS	32768

#define CRYO_CLIENT_SOURCE_MAX	4096
#define CRYO_CLIENT_FACTS_MAX	(8U << 20)	/* more than execve(2) takes */

#define CRYO_FACT_VARIABLE	'E'
#define CRYO_FACT_OLD_PATH	'F'
#define CRYO_FACT_NEW_PATH	'T'

struct cryo_client {
	__u32 size;
	__u32 flags;			/* CRYO_CLIENT_* */
	__s32 requester;		/* RESTARTED: pid of who asked for the restart */
	__u32 source_len;		/* bytes */
	__u64 source;			/* path of the context, not NUL-terminated */
	__u64 facts;			/* RESTARTED: user pointer */
	__u32 facts_len;		/* bytes, 0: none */
	__u32 reserved;
};

/*
 * On /dev/cryo: CRYO_IOC_RESTARTED makes what a checkpoint handle is in a restarted
 * process: poll() finds it readable, its status is CRYO_STATE_RESTARTED.
 */
#define CRYO_IOC_RESTARTED	_IO(CRYO_IOC_TYPE, 0x7d)

#define CRYO_STATE_RESTARTED	16	/* the request was made before the restart */
#define CRYO_STATE_NOTIFYING	17	/* processes that registered are being told */

/*
 * CRYO_CLIENT_WAIT: wait, interruptible, until a checkpoint wants the process. poll() says when it
 * would not block. Fills the structure. When the process has closed the descriptor during the call,
 * without another one of the handle, the handle gets a new one, above 2 and close-on-exec. By the
 * thread that has been told of a checkpoint and has not voted, it is a vote of CRYO_VOTE_TEMPORARY
 * with CRYO_CODE_TEMPORARY, too.
 *
 * Errors: EINTR a signal came; EPERM the handle belongs to another process; EAGAIN (with
 * CRYO_WAIT_HANDLE) the call was interrupted after the descriptor had been closed: @handle is the
 * new one, with which to wait again; nothing else is filled in.
 */
#define CRYO_CLIENT_WAIT	_IO(CRYO_IOC_TYPE, 0x80)

#define CRYO_WAIT_HANDLE	(1U << 0)	/* EAGAIN instead of making the call again, where
						 * there is a new descriptor */

struct cryo_client_request {
	__u32 size;
	__u32 scope;			/* out: CRYO_SCOPE_* */
	__s32 requester;		/* out: its pid, as the caller's pid namespace has it; 0:
					 * not in it */
	__s32 target;			/* out: as the requester gave it */
	__s32 signal;			/* out: cryo_checkpoint.announced_signal */
	__u32 dest_size;		/* in: bytes at @dest */
	__u64 dest;			/* in: user pointer: gets the path that is written to, or
					 * "" */
	__s32 handle;			/* out: the descriptor that the handle has from now on; 0:
					 * the one it had */
	__u32 flags;			/* in: CRYO_WAIT_* */
};

/*
 * CRYO_CLIENT_NOTE: what the helper is about to do, for the message when the time is
 * over.  The argument is a user pointer to a text of at most CRYO_CLIENT_NOTE_MAX bytes, NUL
 * included.  Errors: ECANCELED the checkpoint has been given up meanwhile.
 */
#define CRYO_CLIENT_NOTE	_IO(CRYO_IOC_TYPE, 0x81)
#define CRYO_CLIENT_NOTE_MAX	96

/*
 * CRYO_CLIENT_VOTE: the process is ready, or is not.  READY waits, interruptible, until
 * the checkpoint is over; the others return at once.  (A call that a signal interrupts
 * is made again.)
 *
 * @result: 0 the process goes on, 1 it has been restarted, a negative number (errno,
 * or -code of the vote that ended the checkpoint): there is no checkpoint.
 */
#define CRYO_CLIENT_VOTE	_IO(CRYO_IOC_TYPE, 0x82)

#define CRYO_VOTE_READY		0
#define CRYO_VOTE_OMIT		1	/* without this process */
#define CRYO_VOTE_TEMPORARY	2	/* no checkpoint now */
#define CRYO_VOTE_PERMANENT	3	/* no checkpoint, and all processes in scope that the voter
					 * may signal are killed */

/* READY: after a restart, the other threads of the process wait until this one lets them go. */
#define CRYO_VOTE_HOLD		(1U << 0)
/*
 * READY: the process has nothing to do when the checkpoint is over; a signal of its end need not
 * wait for that (since 1.19).
 */
#define CRYO_VOTE_NO_END	(1U << 1)
#define CRYO_VOTE_FLAGS		((1U << 2) - 1)

#define CRYO_CODE_TEMPORARY	2354	/* libcr's CR_ETEMPFAIL: a failure without a number of its
					 * own */

struct cryo_client_vote {
	__u32 size;
	__u32 vote;			/* CRYO_VOTE_* */
	__u32 code;			/* TEMPORARY, PERMANENT: 1 to 65535, told to the
					 * requester */
	__s32 result;			/* out */
	__s32 requester;		/* out: with result 1: who asked for the restart */
	__u32 flags;			/* CRYO_VOTE_* */
};

/* CRYO_CLIENT_RESTART_INFO: of the last restart.  Errors: ENODATA there was none. */
#define CRYO_CLIENT_RESTART_INFO	_IO(CRYO_IOC_TYPE, 0x83)

struct cryo_client_restart {
	__u32 size;
	__s32 requester;		/* out */
	__u32 source_size;		/* in: bytes at @source */
	__u32 reserved;
	__u64 source;			/* in: user pointer: gets the path, NUL-terminated */
	__u64 facts;			/* in: user pointer: gets the facts if there is room for
					 * all */
	__u32 facts_size;		/* in: bytes at @facts; out: that they have */
	__u32 reserved2;
};

/*
 * CRYO_CLIENT_FORWARD: between WAIT and VOTE: the checkpoint is about these processes as well.
 * Returns when they have been found and told.
 *
 * Both the caller and the requester have to be allowed to ptrace them. When one of the group,
 * session or tree may not be, the checkpoint fails with EPERM.
 *
 * Errors: ESRCH there are none; EPERM the caller or the requester may not ptrace @target, it is the
 * system's first process, or the handle belongs to another process; EBUSY one of them is in another
 * checkpoint: then none of them is in this one; EDEADLK there is nobody but the requester, who is
 * left out; EAGAIN so many processes have come and gone that nobody is looked for any more; EINVAL
 * bad scope; ECANCELED there is no checkpoint, or no longer; ENOSPC more than CRYO_MAX_FORWARDS in
 * one checkpoint.
 */
#define CRYO_CLIENT_FORWARD	_IO(CRYO_IOC_TYPE, 0x84)

#define CRYO_MAX_FORWARDS	1024

struct cryo_client_forward {
	__u32 size;
	__u32 scope;			/* CRYO_SCOPE_PROCESS, PGRP, SESSION or TREE */
	__s32 target;			/* as in struct cryo_checkpoint */
	__u32 reserved;
};

/*
 * CRYO_CLIENT_EXCLUDE: between WAIT and VOTE: what these ranges of the caller's private anonymous
 * memory hold is not needed after a restart, which will fill them with zeros. Holds for this
 * checkpoint, replaces what an earlier call said, and is void when the process calls exec(). Parts
 * that are other memory by the time of the checkpoint are saved all the same.
 *
 * Errors: EINVAL not whole pages, or not ascending with room between the ranges; E2BIG more than
 * CRYO_MAX_EXCLUDED; EPERM the handle belongs to another process; ECANCELED there is no checkpoint,
 * or no longer.
 */
#define CRYO_CLIENT_EXCLUDE	_IO(CRYO_IOC_TYPE, 0x85)

#define CRYO_MAX_EXCLUDED	1024

struct cryo_client_range {
	__u64 start;			/* first byte */
	__u64 end;			/* behind the last one */
};

struct cryo_client_exclude {
	__u32 size;
	__u32 nr_ranges;
	__u64 ranges;			/* user pointer to struct cryo_client_range */
};

/*
 * CRYO_CLIENT_CLAIM: a handle of CRYO_CLIENT_RESTARTED is the caller's from now on.  No argument.
 *
 * Errors: EPERM it belongs to another process.
 */
#define CRYO_CLIENT_CLAIM	_IO(CRYO_IOC_TYPE, 0x86)

/*
 * CRYO_CLIENT_GO: a thread that is held goes on; or all, which CRYO_CLIENT_WAIT and closing the
 * handle do as well, and CRYO_CLIENT_HOLD_MS.
 *
 * Errors: ESRCH the thread is not held; EPERM the handle belongs to another process; EINVAL.
 */
#define CRYO_CLIENT_GO		_IO(CRYO_IOC_TYPE, 0x87)

#define CRYO_CLIENT_HOLD_MS	60000	/* a held thread may have the lock that a callback waits
					 * for */

struct cryo_client_go {
	__u32 size;
	__s32 tid;			/* as gettid(2) says it; 0: all */
};

/*
 * On a checkpoint handle: how the processes voted.  CRYO_CKPT_RUN returns ECANCELED
 * when @vote is TEMPORARY or PERMANENT.
 */
#define CRYO_CKPT_VERDICT	_IO(CRYO_IOC_TYPE, 0x88)

struct cryo_ckpt_verdict {
	__u32 size;
	__u32 vote;			/* CRYO_VOTE_*, READY when nothing was in the way */
	__u32 code;
	__s32 pid;			/* whose vote it was */
	__u32 clients;			/* handles that were told */
	__u32 omitted;			/* processes left out */
	__u32 missing;			/* handles that had not voted when that ended it */
	__u32 reserved;
};

#endif /* _UAPI_CRYO_CLIENT_H */
