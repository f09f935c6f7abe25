/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * ioctl.h - the interface between cryo.ko and its users
 *
 * Everything starts at the character device /dev/cryo.  A checkpoint and a
 * restart each get a handle of their own, a descriptor made by an ioctl on the
 * device; closing the handle gives the operation up and leaves every process
 * as it was.
 *
 * Every structure starts with its size in bytes as the caller knows it, so that
 * it can grow at the end: the kernel treats what an older caller lacks as zero,
 * and refuses with E2BIG what a newer caller sets and it does not know
 * (copy_struct_from_user()).  All fields are fixed-width and explicitly padded,
 * hence the same for 32-bit and 64-bit callers.  Reserved fields must be zero.
 *
 * Errors that apply to every command: EFAULT (bad pointer), EINVAL (size too
 * small, unknown flag, reserved field not zero), E2BIG (see above), ENOTTY (no
 * such command on this kind of descriptor).
 */
#ifndef _UAPI_CRYO_IOCTL_H
#define _UAPI_CRYO_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define CRYO_DEVICE_NAME	"cryo"
#define CRYO_DEVICE_PATH	"/dev/cryo"

/* Major: incompatible change. Minor: something was added. */
#define CRYO_ABI_MAJOR		1
#define CRYO_ABI_MINOR		20

/* Does a module with this interface know all that its user was built to ask for? */
#define CRYO_ABI_FITS(major, minor)	((major) == CRYO_ABI_MAJOR && (minor) >= CRYO_ABI_MINOR)

#define CRYO_IOC_TYPE		0xA1	/* BLCR's number; BLCR is not in use on any kernel Cryo runs
					 * on */

/* ------------------------------------------------------------------------
 * On /dev/cryo
 * ------------------------------------------------------------------------ */

/*
 * CRYO_IOC_VERSION: what this module is and can do.
 *
 * @features tells which optional abilities work on the running kernel (each
 * depends on symbols that the kernel does not export, or on a module parameter; see cryo(4)).
 */
#define CRYO_IOC_VERSION	_IO(CRYO_IOC_TYPE, 0x40)

#define CRYO_FEATURE_PID_CHOICE		(1ULL << 0)	/* CRYO_IOC_PID_CURSOR works */
#define CRYO_FEATURE_EXE_LINK		(1ULL << 1)	/* /proc/PID/exe can be restored without
							 * capabilities */
#define CRYO_FEATURE_RESTART_BLOCK	(1ULL << 2)	/* sleeps and timed waits go on with their
							 * remaining time */
#define CRYO_FEATURE_TIMED_WAITS	(1ULL << 3)	/* epoll_wait() and sigtimedwait() keep
							 * their remaining time */
#define CRYO_FEATURE_SOCKET_OPTIONS	(1ULL << 8)	/* sockets other than listening ones can be
							 * saved */
#define CRYO_FEATURE_DATAGRAMS		(1ULL << 9)	/* CRYO_RST_DATAGRAM works */
#define CRYO_FEATURE_SHARED_TABLES	(1ULL << 10)	/* processes can have one descriptor table
							 * again */

#define CRYO_FEATURE_SNAPSHOT		(1ULL << 12)	/* processes can go on before their memory
							 * is written */
#define CRYO_FEATURE_TRACK		(1ULL << 13)	/* the kernel keeps account of what
							 * processes write to */
#define CRYO_FEATURE_MAP		(1ULL << 14)	/* CRYO_RST_MAP_FILE and CRYO_RST_MAP
							 * work */
#define CRYO_FEATURE_SHARE		(1ULL << 15)	/* restarts from one context have pages in
							 * common */
#define CRYO_FEATURE_SECCOMP		(1ULL << 20)	/* seccomp filters can be restored */
#define CRYO_FEATURE_LANDLOCK		(1ULL << 21)	/* Landlock restrictions are noticed */
#define CRYO_FEATURE_CONSENT		(1ULL << 22)	/* CRYO_IOC_CONSENT works */
/*
 * As PID_CHOICE, EXE_LINK and DATAGRAMS, of the module's parameters of these names, for those
 * without capabilities: cryo(4), EXCEPTIONS.
 */
#define CRYO_FEATURE_IPC_ID_CHOICE	(1ULL << 24)	/* CRYO_IOC_IPC_ID works */
#define CRYO_FEATURE_PEER_PID		(1ULL << 25)	/* CRYO_RST_PEER_PID works */
#define CRYO_FEATURE_TIME_WAIT_PORTS	(1ULL << 26)	/* CRYO_RST_PORT works for ports in
							 * TIME_WAIT */

struct cryo_version {
	__u32 size;
	__u16 abi_major;
	__u16 abi_minor;
	__u16 format_major;
	__u16 format_minor;
	__u32 reserved;
	__u64 features;
	char  release[32];		/* release of the module, NUL-terminated */
	char  missing[256];		/* names of the symbols not found, comma-separated */
};

/*
 * CRYO_IOC_CHECKPOINT: prepare a checkpoint; returns a checkpoint handle
 * (close-on-exec).  Nothing happens to the target before CRYO_CKPT_RUN.
 *
 * @target is a pid in the caller's pid namespace, or the id of a process group or session
 * when @scope says so; 0 means the caller('s).  The caller's own process is part of the scope
 * with CRYO_CKPT_SELF only; it then goes on from CRYO_CKPT_RUN, which returns 1 in the process that
 * a restart makes of it.
 * @out_fd is any descriptor open for writing: the context is written to it in one sequential pass
 * from its current position. CRYO_CKPT_RUN takes what its caller has at that number, which has to
 * be the same open file: EBADF, and the handle stays as it was, if it is not, or has been closed.
 * With CRYO_CKPT_DIRECT pages of memory are written as with O_DIRECT, when @out_fd is a regular
 * file of a file system on a block device and the context has many of them; the rest of the
 * context, and all of it where that cannot be done, goes through the page cache.
 * @timeout_ms bounds the whole request (freeze, capture and writing); 0 means
 * no limit on capture and writing.
 * @freeze_ms bounds the time until all threads of the target are parked; 0 means
 * CRYO_FREEZE_DEFAULT_MS, and CRYO_FREEZE_MAX_MS is the most for who has no CAP_SYS_ADMIN in the
 * first user namespace.
 *
 * Errors: ESRCH no such process; EPERM the caller may not ptrace it; EBADF
 * @out_fd is not open for writing.
 */
#define CRYO_IOC_CHECKPOINT	_IO(CRYO_IOC_TYPE, 0x41)

#define CRYO_SCOPE_PROCESS	0	/* one process; its children are left out */
#define CRYO_SCOPE_PGRP		1	/* all processes of the process group @target */
#define CRYO_SCOPE_SESSION	2	/* all processes of the session @target */
#define CRYO_SCOPE_TREE		3	/* the target and all its descendants */
#define CRYO_SCOPE_CGROUP	4	/* the target's control group (version 2) and those below
					 * it */
#define CRYO_SCOPE_MAX		4

#define CRYO_CKPT_HOLD		(1U << 0)	/* stay frozen after the capture until
						 * CRYO_CKPT_THAW */
#define CRYO_CKPT_SAVE_EXE	(1U << 1)	/* contents of the executable go into the context */
#define CRYO_CKPT_SAVE_PRIVATE	(1U << 2)	/* ... of files mapped privately (libraries) */
#define CRYO_CKPT_SAVE_SHARED	(1U << 3)	/* ... of files mapped shared */
#define CRYO_CKPT_PTRACED_ALLOW	(1U << 4)	/* a traced process is no obstacle */
#define CRYO_CKPT_DRY_RUN	(1U << 5)	/* freeze, report all obstacles, write nothing */
#define CRYO_CKPT_TCP_CLOSE	(1U << 8)	/* TCP connections to the outside are found reset
						 * after a restart */
#define CRYO_CKPT_UNIX_CLOSE	(1U << 9)	/* connected Unix sockets likewise, closed by the
						 * other end */
#define CRYO_CKPT_SAVE_OPEN	(1U << 10)	/* ... of small files that are open for reading
						 * only, see @save_limit */
#define CRYO_CKPT_SELF		(1U << 16)	/* the caller's own process is part of the scope */
#define CRYO_CKPT_NO_CALLBACKS	(1U << 17)	/* processes that registered are not told
						 * (client.h) */
#define CRYO_CKPT_SNAPSHOT	(1U << 18)	/* thaw before memory is written, where that is
						 * possible */
#define CRYO_CKPT_TRACK		(1U << 19)	/* what is written from now on is to be known, see
						 * CRYO_CKPT_PARENT */
#define CRYO_CKPT_DIRECT	(1U << 20)	/* page data go past the page cache where that is
						 * faster */
#define CRYO_CKPT_DIRECT_ALWAYS	(1U << 21)	/* ... wherever it can be done */
#define CRYO_CKPT_PTRACED_SKIP	(1U << 22)	/* traced processes are left out, as
						 * CRYO_CKPT_PTRACER_SKIP has it */
#define CRYO_CKPT_PTRACER_SKIP	(1U << 23)	/* processes that trace others are left out, with
						 * what is in the scope by them only */
#define CRYO_CKPT_SIGNAL	(1U << 24)	/* without HOLD: CRYO_CKPT_RUN sends
						 * @announced_signal */
#define CRYO_CKPT_COMMAND	(1U << 25)	/* the caller is in no other checkpoint as long as
						 * the handle is open: EBUSY for those */
#define CRYO_CKPT_GOES_ON	(1U << 26)	/* with SNAPSHOT: EDEADLK where that is not
						 * possible, and nothing written */
#define CRYO_CKPT_FLAGS		(((1U << 6) - 1) | CRYO_CKPT_TCP_CLOSE | CRYO_CKPT_UNIX_CLOSE | \
				 CRYO_CKPT_SELF | CRYO_CKPT_NO_CALLBACKS | \
				 CRYO_CKPT_SNAPSHOT | CRYO_CKPT_TRACK | \
				 CRYO_CKPT_DIRECT | CRYO_CKPT_DIRECT_ALWAYS | CRYO_CKPT_SIGNAL | \
				 CRYO_CKPT_PTRACED_SKIP | CRYO_CKPT_PTRACER_SKIP | \
				 CRYO_CKPT_COMMAND | CRYO_CKPT_GOES_ON | CRYO_CKPT_SAVE_OPEN)

#define CRYO_FREEZE_DEFAULT_MS	10000
/*
 * Threads that have come wait for those that have not. More than this is cut to it, but for who has
 * CAP_SYS_ADMIN.
 */
#define CRYO_FREEZE_MAX_MS	60000

struct cryo_checkpoint {
	__u32 size;
	__u32 flags;			/* CRYO_CKPT_* */
	__s32 target;
	__u32 scope;			/* CRYO_SCOPE_* */
	__s32 out_fd;
	__u32 timeout_ms;
	__u32 freeze_ms;
	__u32 reserved;
	__s32 announced_signal;		/* told to callbacks: what the caller, or CRYO_CKPT_SIGNAL,
					 * is going to send; 0: nothing */
	__u32 reserved2;
	__u64 snapshot_limit;		/* bytes that copies of memory may take, see
					 * CRYO_CKPT_SNAPSHOT; 0: default */
	/* With CRYO_CKPT_SAVE_OPEN, in bytes; 0: 1 MiB and 16 MiB */
	__u64 save_limit;		/* larger files are not saved */
	__u64 save_total;		/* in all of those that are */
};

/*
 * CRYO_IOC_RESTART: prepare to restart one process or several; returns a restart handle
 * (close-on-exec).  The caller becomes the coordinator: when its process closes
 * the handle or dies before CRYO_RST_COMMIT has succeeded, all threads parked
 * at the handle are killed.
 *
 * @threads is the number of threads that will call CRYO_RST_RESUME, and @processes that
 * of their processes (0 means 1), each of which has one that is its CRYO_RESUME_LEADER.
 */
#define CRYO_IOC_RESTART	_IO(CRYO_IOC_TYPE, 0x42)

#define CRYO_MAX_THREADS	(1U << 20)

struct cryo_restart {
	__u32 size;
	__u32 flags;			/* none defined */
	__u32 threads;
	__u32 processes;
};

/*
 * CRYO_IOC_PID_CURSOR: let the next pid handed out in the pid namespace of the
 * caller's children be @pid, if it is free: what /proc/sys/kernel/ns_last_pid
 * does for those who have CAP_CHECKPOINT_RESTORE.  Another process may fork in
 * between: the caller looks at the pid that it got, and tries again.
 * @previous returns where the cursor stood before any restart moved it; @pid 0 puts it back there,
 * unless it is elsewhere by now: ids that have been handed out since are not handed out again.
 *
 * Errors: EPERM the administrator switched it off (module parameter pid_choice), and
 * the caller has no CAP_CHECKPOINT_RESTORE in the user namespace of the pid namespace;
 * ERANGE @pid cannot be a pid; EINVAL the namespace has had no process yet, and @pid is not 1.
 */
#define CRYO_IOC_PID_CURSOR	_IO(CRYO_IOC_TYPE, 0x43)

struct cryo_pid_cursor {
	__u32 size;
	__s32 pid;
	__s32 previous;
	__u32 reserved;
};

/*
 * CRYO_IOC_IPC_ID: let the next System V object of @kind in the caller's ipc
 * namespace get @id, if that is free: what /proc/sys/kernel/{sem,msg,shm}_next_id
 * do for those who have CAP_CHECKPOINT_RESTORE.  Somebody else may make one in
 * between: the caller looks at the id that it got, and tries again.
 *
 * Errors: EPERM as of CRYO_IOC_PID_CURSOR (module parameter ipc_id_choice); EINVAL @kind or @id
 * cannot be; EEXIST the place that is part of @id is taken; EOPNOTSUPP the kernel lacks what it
 * takes.
 */
#define CRYO_IOC_IPC_ID		_IO(CRYO_IOC_TYPE, 0x44)

#define CRYO_IPC_KIND_SEM	1
#define CRYO_IPC_KIND_MSG	2
#define CRYO_IPC_KIND_SHM	3

struct cryo_ipc_id {
	__u32 size;
	__u32 kind;			/* CRYO_IPC_KIND_* */
	__s32 id;
	__u32 reserved;
};

/*
 * CRYO_IOC_CONSENT: where Yama lets nobody but its ancestors trace a process
 * (kernel.yama.ptrace_scope is 1), the calling process, and from now on its children, may be
 * checkpointed by processes of its user, which has to be the only one that it has (real, effective
 * and saved), in its own user namespace. It cannot be traced otherwise by that. A program that runs
 * with more rights than its caller, and other user ids, end that; while the process is not dumpable
 * (PR_SET_DUMPABLE) it does not count.
 *
 * Returns whether it had been so before, 1 or 0.
 *
 * Errors: EOPNOTSUPP there is no Yama, or the kernel lacks what it takes; EPERM its user ids
 * differ.
 */
#define CRYO_IOC_CONSENT	_IO(CRYO_IOC_TYPE, 0x45)

#define CRYO_CONSENT_ASK	0
#define CRYO_CONSENT_GIVE	1
#define CRYO_CONSENT_TAKE_BACK	2

struct cryo_consent {
	__u32 size;
	__u32 consent;			/* CRYO_CONSENT_* */
};

/* ------------------------------------------------------------------------
 * On a checkpoint handle
 *
 * poll(): readable when the capture has ended, well or badly.
 * read(): the request's log, text lines, one obstacle or warning each; returns
 * 0 at the end of what there is.
 * close(): gives the request up, thaws.
 * ------------------------------------------------------------------------ */

/*
 * CRYO_CKPT_SNAPSHOT: once all is known, memory is only taken note of, the target goes on, and
 * CRYO_CKPT_RUN returns when the context has been written, from the memory as it was then: pages
 * that the target writes to meanwhile are copied before. When that takes more than @snapshot_limit
 * (0: a quarter of what is available; never more than the target's control groups allow) or memory
 * is short, the target is stopped again until the rest is written. Where there can be no snapshot,
 * and with CRYO_CKPT_HOLD, where it would be of no use, the context is written while the target is
 * stopped. The log says so. Another request for the same target gets EBUSY until the context is
 * written. What fails after the target has gone on (a full disk) makes CRYO_CKPT_RUN fail, and does
 * not hurt the target; callbacks have been told by then that there was a checkpoint.
 */

/*
 * CRYO_CKPT_RUN: freeze the target, write the context, and thaw (unless
 * CRYO_CKPT_HOLD).  Blocks, killable, in the caller's context: the caller's
 * limits, credentials and memory cgroup apply to what is written.
 *
 * On any error the target runs on as if nothing had been.
 *
 * Returns when the callbacks of the processes have ended that went on after the checkpoint
 * (client.h): their helpers are back in CRYO_CLIENT_WAIT. That is waited for as long as @timeout_ms
 * says, counted anew, and is no part of the result. With CRYO_CKPT_SIGNAL the processes get the
 * signal before the first thread moves, but those that have such callbacks when these have ended;
 * if @announced_signal is negative, all do at once.
 *
 * Errors: EOPNOTSUPP the target holds what cannot be saved: read() gives one line for each object;
 * ESRCH the target exited; EPERM there is a process in the scope that the caller may not ptrace:
 * nobody has been told or stopped then, but for what has become such a process meanwhile;
 * ETIMEDOUT; EINTR a signal came while writing; EBUSY another request has the target, or this one
 * has run; ECANCELED CRYO_CKPT_CANCEL; ENOSPC, EPIPE, EFBIG, EIO ... from writing.
 */
#define CRYO_CKPT_RUN		_IO(CRYO_IOC_TYPE, 0x50)

/*
 * CRYO_CKPT_THAW: end the hold of CRYO_CKPT_HOLD. The argument is a signal number, or 0: the signal
 * is pending before the first thread moves, so that no instruction runs between the checkpoint and,
 * say, SIGKILL. Processes that have callbacks which go on after the checkpoint get it when these
 * have ended, as with CRYO_CKPT_SIGNAL; at once like the others, if @announced_signal is negative.
 * Waits for callbacks as CRYO_CKPT_RUN does. SIGKILL and SIGSTOP then are sent as well to processes
 * of the scope that have been made since the checkpoint, and that the caller may trace.
 *
 * Errors: EINVAL not held, or not a signal; EPERM a process may not be signalled: the hold goes on,
 * unless callbacks had to end before the signal, and the state is CRYO_STATE_DONE.
 */
#define CRYO_CKPT_THAW		_IO(CRYO_IOC_TYPE, 0x51)

/* CRYO_CKPT_CANCEL: make a CRYO_CKPT_RUN of another thread fail with ECANCELED. */
#define CRYO_CKPT_CANCEL	_IO(CRYO_IOC_TYPE, 0x52)

/* CRYO_CKPT_STATUS: figures of the request, at any time. */
#define CRYO_CKPT_STATUS	_IO(CRYO_IOC_TYPE, 0x53)

#define CRYO_STATE_NEW		0
#define CRYO_STATE_FREEZING	1
#define CRYO_STATE_CAPTURING	2	/* metadata */
#define CRYO_STATE_WRITING	3	/* memory */
#define CRYO_STATE_HELD		4
#define CRYO_STATE_DONE		5
#define CRYO_STATE_FAILED	6

#define CRYO_OBSTACLE_PTRACED	(1U << 0)	/* a process is being traced */
#define CRYO_OBSTACLE_PTRACER	(1U << 1)	/* a process traces others */

struct cryo_ckpt_status {
	__u32 size;
	__u32 state;			/* CRYO_STATE_* */
	__s32 result;			/* 0 or a negative errno, once DONE, HELD or FAILED */
	__u32 threads;
	__u64 freeze_ns;		/* from the first thread asked to the last one parked */
	__u64 pause_ns;			/* from the first thread asked until thawed; all such times
					 * together */
	__u64 bytes_written;
	__u64 pages_saved;
	__u64 pages_zero;		/* present, but all zero: not in the file */
	__u32 processes;
	__u32 snapshot;			/* 1: thawed before memory was written */
	__u64 pages_unchanged;		/* not in the file: as they are in the parent, see
					 * CRYO_CKPT_PARENT */
	__u64 bytes_total;		/* that @bytes_written may become, at most; 0: not known
					 * yet */
	__u32 obstacles;		/* CRYO_OBSTACLE_* of what EOPNOTSUPP is about */
	__u32 reserved;
};

/*
 * CRYO_CKPT_PARENT: before CRYO_CKPT_RUN: the context @id (its identity as in
 * <cryo/format_memory.h>) is going to be the parent of this one. Where the kernel has kept account
 * of what was written since that was captured, pages of private anonymous memory that were not are
 * left out: sections PAGES_UNCHANGED name them instead, and the caller has to put in where they
 * are. @tracked returns 1 if there is such an account of the memory of the target itself at
 * present; it may have gone by the time of the capture.
 *
 * CRYO_CKPT_COMPLETE: after CRYO_CKPT_RUN: the context has been written down, and is @id. With
 * CRYO_CKPT_TRACK, the account that began with its capture is from now on that of this context.
 * Without this, or after an error, there is none.
 *
 * CRYO_CKPT_TRACK clears the soft-dirty bits of the target (proc(5)): programs that use these
 * themselves must not be disturbed. It works where there can be snapshots (whether
 * CRYO_CKPT_SNAPSHOT asks for one or not) and the kernel has such bits; else, and with
 * CRYO_CKPT_HOLD, it does nothing.
 *
 * Errors: EBUSY the request has run; EINVAL it has not; EPERM the caller may not ptrace the target,
 * as it is now; ESRCH that has gone.
 */
#define CRYO_CKPT_PARENT	_IO(CRYO_IOC_TYPE, 0x56)
#define CRYO_CKPT_COMPLETE	_IO(CRYO_IOC_TYPE, 0x57)

struct cryo_ckpt_context {
	__u32 size;
	__u32 tracked;			/* CRYO_CKPT_PARENT returns it; 0 in the call */
	__u8  id[16];
};

/*
 * CRYO_CKPT_DEVICE: what becomes of descriptors of the device @rdev; without it
 * they are obstacles.  Before CRYO_CKPT_RUN.  The last rule for a device counts.
 *
 * Errors: EBUSY the request has run; ENOSPC more than CRYO_MAX_DEVICE_RULES.
 */
#define CRYO_CKPT_DEVICE	_IO(CRYO_IOC_TYPE, 0x54)

#define CRYO_DEVICE_FAIL	0	/* an obstacle */
#define CRYO_DEVICE_REOPEN	1	/* opened by its path at the restart */
#define CRYO_DEVICE_CLOSE	2	/* not open after the restart */

#define CRYO_MAX_DEVICE_RULES	256

struct cryo_ckpt_device {
	__u32 size;
	__u32 policy;			/* CRYO_DEVICE_* */
	__u32 rdev;			/* st_rdev, as the kernel packs it for user space */
	__u32 block;			/* 1: a block device, 0: a character device */
};

/* ------------------------------------------------------------------------
 * On a restart handle
 *
 * read(): the log, as on a checkpoint handle.
 *
 * All calls but CRYO_RST_STATUS and read() are for the user who made the handle: EPERM for who has
 * other user ids or is in another user namespace, unless the maker of the handle has CAP_SETUID
 * there. Threads come until CRYO_RST_COMMIT has found all of them; all other calls are for the time
 * before it begins: EBUSY from then on, and when the restart has been given up.
 * ------------------------------------------------------------------------ */

/*
 * CRYO_RST_RESUME: the calling thread becomes a thread of the checkpoint.
 *
 * The call copies what it needs and returns 0, but the caller never sees that:
 * the thread parks on its way to user mode, its registers are replaced, and it
 * goes on where the checkpoint found it.  Before it does: the leader unmaps
 * @unmap_start..+@unmap_len (the code that made this call), takes @exe_fd as its
 * /proc/self/exe, closes @close_fd, and sends @signal to its process; then, in each
 * thread, the signal masks and the restart block are set, and it takes the tables that
 * it shares with another process of the group (CLONE_FILES, CLONE_FS): those of the one
 * that says it owns them.
 *
 * If the restart is given up, the thread is killed.
 *
 * Filters of seccomp(2) that take CAP_SYS_ADMIN are installed if the maker of the handle has that
 * in the user namespace of the caller. After an error there is none; a thread that has got some of
 * several when another one is refused is killed. Those that it shares with another thread, as by
 * clone(2), it gets from that one, for which it waits (killable).
 *
 * Errors: EINVAL bad registers, mask or restart block; EBUSY too many threads or committed already;
 * EACCES a filter that neither the caller nor the maker of the handle may install; ENOMEM the
 * caller's control group has no room for what is kept.
 */
#define CRYO_RST_RESUME		_IO(CRYO_IOC_TYPE, 0x60)

/*
 * @unmap_*, @close_fd, @exe_fd, @signal count: one thread of each process, the first that has not
 * exited.
 */
#define CRYO_RESUME_LEADER		(1U << 0)
#define CRYO_RESUME_RESTORE_SIGMASK	(1U << 1)	/* @saved_sigmask comes back when the call
							 * ends */
/* Of a leader: what @files_of, @fs_of call is that of this process; others of the group get it. */
#define CRYO_RESUME_OWNS_FILES		(1U << 2)
#define CRYO_RESUME_OWNS_FS		(1U << 3)
#define CRYO_RESUME_HELD		(1U << 4)	/* see CRYO_CLIENT_HOLDS; EINVAL: nobody
							 * holds */
#define CRYO_RESUME_DUMPABLE		(1U << 5)	/* with LEADER: PR_SET_DUMPABLE of 1, when
							 * @unmap_* is gone */
/*
 * With LEADER, and a signal that stops in @signal (EINVAL: it is none): its parent has been
 * notified of that by SIGCHLD, and is not notified again: @signal is not sent, and all threads stop
 * whatever the process does about it ...
 */
#define CRYO_RESUME_STOP_TOLD		(1U << 6)
#define CRYO_RESUME_STOP_WAITED		(1U << 7)	/* ... and it has waited for it, too */
#define CRYO_RESUME_CONTINUED		(1U << 8)	/* with LEADER: its parent may wait for
							 * its SIGCONT */
#define CRYO_RESUME_FLAGS		((1U << 9) - 1)

/* What restart_syscall(2) does next: the kinds of struct restart_block. */
#define CRYO_RESTART_NONE	0	/* EINTR, as do_no_restart_syscall() */
#define CRYO_RESTART_NANOSLEEP	1	/* hrtimer_nanosleep_restart() */
#define CRYO_RESTART_FUTEX	2	/* futex_wait_restart() */
#define CRYO_RESTART_POLL	3	/* do_restart_poll() */
#define CRYO_RESTART_TIMED	4	/* the call in the registers, with the remaining time */

#define CRYO_TIME_REMAINING	(1U << 0)	/* @time_ns is what was left; else absolute on its
						 * clock, of the time namespace of the process */
#define CRYO_TIME_INFINITE	(1U << 1)	/* no timeout (poll) */

struct cryo_restart_block {
	__u32 kind;			/* CRYO_RESTART_* */
	__u32 time_flags;		/* CRYO_TIME_* */
	__s64 time_ns;			/* nanoseconds; remaining may be negative: it has passed */
	__u32 clockid;			/* NANOSLEEP: CLOCK_* */
	__u32 nanosleep_type;		/* NANOSLEEP: 0 none, 1 native, 2 compat remaining-time
					 * pointer */
	__u64 uaddr;			/* NANOSLEEP rmtp, FUTEX uaddr, POLL ufds; TIMED first
					 * argument */
	__u32 val;			/* FUTEX val, POLL nfds, TIMED system call number */
	__u32 futex_flags;		/* FUTEX, FLAGS_* of the kernel that wrote it, whichever
					 * that is */
	__u32 futex_bitset;
	__u32 reserved;
};

/* One register set: a regset of the kernel, named by its core dump note type (NT_*). */
struct cryo_regset {
	__u32 note;			/* NT_PRSTATUS, NT_X86_XSTATE ... */
	__u32 length;			/* bytes */
	__u64 data;			/* user pointer */
};

#define CRYO_MAX_REGSETS	32
#define CRYO_MAX_REGSET_BYTES	(1U << 18)	/* all sets of a thread together; each no more than
						 * the kernel's regset has */

/* One seccomp filter, as seccomp(2) takes it. */
struct cryo_seccomp_program {
	__u64 program;			/* user pointer to struct sock_fprog */
	__u32 flags;			/* SECCOMP_FILTER_FLAG_* */
	__u32 reserved;
};

#define CRYO_MAX_SECCOMP	(1U << 15)

struct cryo_resume {
	__u32 size;
	__u32 flags;			/* CRYO_RESUME_* */
	__u64 sigmask;			/* blocked signals, bit N-1 is signal N */
	__u64 saved_sigmask;
	struct cryo_restart_block restart;
	__u64 regsets;			/* user pointer to @nr_regsets struct cryo_regset */
	__u32 nr_regsets;
	__s32 close_fd;			/* -1: none */
	__u64 unmap_start;
	__u64 unmap_len;
	__s32 exe_fd;			/* -1: leave /proc/self/exe; a descriptor, closed too
					 * (O_PATH: no lock is lost by that) */
	__s32 signal;			/* of the leader: pending for the process before it starts;
					 * 0: none */
	__u64 seccomp;			/* user pointer to @nr_seccomp struct cryo_seccomp_program,
					 * oldest first */
	__u32 nr_seccomp;
	__u32 seccomp_mode;		/* SECCOMP_MODE_*, in force when the call returns */
	__u32 death_signal;		/* PR_SET_PDEATHSIG when it goes on; 0: as it is */
	__s32 files_of;			/* names the descriptor table that it goes on with; 0: the
					 * one it has */
	__s32 fs_of;			/* same of the working directory, root and umask */
	__u32 seccomp_thread;		/* by which others of the process call this thread in
					 * @seccomp_of; 0: nobody does */
	__u32 seccomp_of;		/* the thread that has, and has not got alone, ... */
	__u32 seccomp_shared;		/* ... so many of the filters, the oldest; 0: none */
};

/*
 * CRYO_RST_COMMIT: by the coordinator.  Waits, killable, until all threads are
 * parked, sets their registers, and lets all go together; or, on any error,
 * kills them all.
 *
 * Errors: ETIMEDOUT not all threads came within @timeout_ms (0: 60 s; CRYO_COMMIT_MAX_MS is the
 * most for who has no CAP_SYS_ADMIN in the first user namespace); ESRCH a thread died; EINVAL, EIO,
 * ENODEV a register set was refused: the log names the thread and the set; EPERM the caller is not
 * the coordinator, or processes are to share tables that clone(2) would not have them share; EAGAIN
 * ... with one that executes a program; EBUSY another thread has called it, or had.
 */
#define CRYO_RST_COMMIT		_IO(CRYO_IOC_TYPE, 0x61)

/* More is cut to it, but for who has CAP_SYS_ADMIN. */
#define CRYO_COMMIT_MAX_MS	60000

struct cryo_commit {
	__u32 size;
	__u32 flags;			/* CRYO_COMMIT_* */
	__u32 timeout_ms;
	__s32 signal;			/* pending for each process before it starts, or, where
					 * threads are held, when they go on; 0: none */
};

#define CRYO_COMMIT_FLAGS	0U

/* CRYO_RST_STATUS: 1 when the threads have been let go, 0 when not, or not yet.  No argument. */
#define CRYO_RST_STATUS		_IO(CRYO_IOC_TYPE, 0x62)

/*
 * CRYO_RST_EPOLL_DISARM: make a registration of epoll(7) one that has reported its
 * only event (EPOLLONESHOT).  -ENOENT: there is none such; -EBUSY: it has other events.
 */
#define CRYO_RST_EPOLL_DISARM	_IO(CRYO_IOC_TYPE, 0x6e)

struct cryo_epoll_disarm {
	__u32 size;			/* sizeof(struct cryo_epoll_disarm) */
	__s32 epoll_fd;
	__s32 target_fd;		/* a descriptor of the file that is watched */
	__s32 fd;			/* the number under which it is */
	__u32 events;			/* that it has now */
};

/*
 * CRYO_RST_TIMER: set what no call sets of the POSIX timers of the calling process, which need not
 * have resumed: the id that its next timer_create(2) tries first, or the counts of expirations of
 * one timer. -ENOENT: there is no timer @id; -EAGAIN: another thread of the process has deleted
 * timers while it was looked for.
 */
#define CRYO_RST_TIMER		_IO(CRYO_IOC_TYPE, 0x6f)

#define CRYO_TIMER_NEXT_ID	1	/* @id */
#define CRYO_TIMER_COUNTS	2	/* @overrun, @overrun_last of the timer @id */

struct cryo_timer_state {
	__u32 size;			/* sizeof(struct cryo_timer_state) */
	__u32 what;			/* CRYO_TIMER_NEXT_ID or CRYO_TIMER_COUNTS */
	__s32 id;
	__u32 reserved;
	__s64 overrun;			/* as in struct cryo_posix_timer */
	__s64 overrun_last;
};

/*
 * CRYO_RST_PID_CURSOR: as CRYO_IOC_PID_CURSOR, in the pid namespace @up levels above that of the
 * caller's children, which must not be above that of the coordinator. @pid 0 puts it back.
 */
#define CRYO_RST_PID_CURSOR	_IO(CRYO_IOC_TYPE, 0x78)

struct cryo_nested_cursor {
	__u32 size;
	__s32 pid;
	__u32 up;
	__u32 reserved;
};

/*
 * CRYO_RST_OUTER_PID: what the process @pid is called in the coordinator's pid namespace.
 * ESRCH: there is none such that is a descendant of the coordinator.
 */
#define CRYO_RST_OUTER_PID	_IO(CRYO_IOC_TYPE, 0x79)

struct cryo_outer_pid {
	__u32 size;
	__s32 pid;
	__s32 outer;			/* returned */
	__u32 reserved;
};

/*
 * CRYO_RST_EXIT_SIGNAL: let the caller's parent be told of his end by @signal, 0: by none.
 *
 * Errors: EINVAL there is no such signal, or the caller is not the main thread; EPERM the parent is
 * no descendant of the coordinator that the caller, or who restarts, may send a signal, or has
 * executed a program since the caller was forked; ESRCH the parent has just ended.
 */
#define CRYO_RST_EXIT_SIGNAL	_IO(CRYO_IOC_TYPE, 0x7a)

struct cryo_exit_signal {
	__u32 size;
	__s32 signal;
};

/*
 * CRYO_RST_PEER_PID: let a Unix socket say by SO_PEERCRED that the process @pid is at its other end
 * (or, of a listening socket, let those that connect to it say so).  User and group stay.
 *
 * Errors: ESRCH there is no such process; EPERM @fd, or what is at its other end, was not made by
 * the caller's user; or @pid is no descendant of the coordinator whose state he, or who restarts,
 * may read (PTRACE_MODE_READ in ptrace(2)); or the administrator switched it off (module parameter
 * peer_pid); ENOTCONN, EINVAL there is nothing at the other end, or it is a socket for datagrams,
 * whose end anybody may be at.
 */
#define CRYO_RST_PEER_PID	_IO(CRYO_IOC_TYPE, 0x70)

struct cryo_peer_pid {
	__u32 size;			/* sizeof(struct cryo_peer_pid) */
	__s32 fd;
	__s32 pid;			/* in the caller's pid namespace; 0: nobody */
	__u32 flags;			/* CRYO_PEER_PID_* */
};

#define CRYO_PEER_PID_OTHER_END	(1U << 0)	/* what the socket at the other end says: nobody may
						 * have accepted it yet */

/*
 * CRYO_RST_PORT: let the TCP port @port be bound to again, in the network namespace of the TCP
 * socket @fd: by sockets with SO_REUSEADDR, as if the connections that have been closed there, and
 * keep it for a minute (TIME_WAIT), had that too.
 *
 * Of one in TIME_WAIT nothing tells whose it was: for these it takes CAP_NET_ADMIN, or the module
 * parameter time_wait_ports.
 *
 * Errors: EACCES it is a port that the caller may not bind to; EPERM there are some in TIME_WAIT,
 * see above; EINVAL @fd is no TCP socket, or @port is no port.
 */
#define CRYO_RST_PORT		_IO(CRYO_IOC_TYPE, 0x77)

struct cryo_port {
	__u32 size;			/* sizeof(struct cryo_port) */
	__s32 fd;
	__u32 port;			/* host byte order */
	__u32 reserved;
};

/*
 * CRYO_RST_DATAGRAM: put a datagram into the queue of a UDP socket as if it had been received; or
 * let the next call fail with @error.
 *
 * Errors: EOPNOTSUPP the kernel lacks what it takes; ENOBUFS no room; and for who lacks CAP_NET_RAW
 * in the user namespace of its network namespace: EPERM the socket was made by another user, or the
 * administrator switched it off (module parameter datagrams); EBUSY it has more descriptors than
 * one, or others share the caller's table of them.
 */
#define CRYO_RST_DATAGRAM	_IO(CRYO_IOC_TYPE, 0x71)

#define CRYO_MAX_DATAGRAM	65535

struct cryo_datagram {
	__u32 size;			/* sizeof(struct cryo_datagram) */
	__s32 fd;
	__u64 data;			/* user pointer */
	__u32 length;			/* bytes, up to CRYO_MAX_DATAGRAM */
	__u32 error;			/* errno value; 0: there is a datagram */
	__u8  from[16];			/* as in struct cryo_udp_origin, from here on */
	__u8  to[16];
	__u16 family;
	__u16 from_port;
	__u16 to_port;
	__u8  tos;
	__u8  ttl;
	__u32 ifindex;
	__u32 reserved;
	__u64 time_ns;
};

/*
 * CRYO_RST_URING: let a ring of io_uring to which nothing has been submitted yet go on counting
 * where another one has stopped.
 *
 * mmap(2) of the handle, with MAP_SHARED, maps the ring whose descriptor is in the bits of the
 * offset from CRYO_URING_FD_SHIFT on, at what the bits below say (IORING_OFF_*): the ring itself
 * cannot be mapped at an address of one's choice.
 *
 * Errors: EINVAL @fd is no ring, or one set up with flags that are not in CRYO_URING_FLAGS; EBUSY
 * it has been used.
 */
#define CRYO_RST_URING		_IO(CRYO_IOC_TYPE, 0x72)

#define CRYO_URING_FD_SHIFT	40

struct cryo_uring_counters {
	__u32 size;			/* sizeof(struct cryo_uring_counters) */
	__s32 fd;
	__u32 sq_head;
	__u32 cq_tail;
};

/*
 * CRYO_RST_INOTIFY_EVENT: put an event into the queue of an inotify instance as if it had just
 * happened. Where there is no room (/proc/sys/fs/inotify/max_queued_events), the queue tells of
 * lost events, as always.
 *
 * Errors: EINVAL @fd is no inotify instance, or there are no such events; EPERM another user has
 * made it, and the caller and who restarts lack CAP_SETUID over him; EOPNOTSUPP the kernel keeps
 * them in another way than is known.
 */
#define CRYO_RST_INOTIFY_EVENT	_IO(CRYO_IOC_TYPE, 0x7b)

struct cryo_inotify_put {
	__u32 size;			/* sizeof(struct cryo_inotify_put) */
	__s32 fd;
	__s32 wd;			/* as in struct cryo_inotify_event, from here on */
	__u32 mask;
	__u32 cookie;
	__u32 name_len;
	__u64 name;			/* user pointer; not NUL-terminated */
};

/*
 * CRYO_RST_SHADOW_STACK: fill pages of the caller's that no program may write to by itself, as the
 * CPU keeps return addresses there.
 *
 * Errors: EACCES they are not, or not all, in shadow stacks (map_shadow_stack(2)); EINVAL no whole
 * pages; EBUSY there is something on them; EPERM the caller is the coordinator, or a thread of its
 * process has resumed.
 */
#define CRYO_RST_SHADOW_STACK	_IO(CRYO_IOC_TYPE, 0x76)

struct cryo_shadow_stack {
	__u32 size;			/* sizeof(struct cryo_shadow_stack) */
	__u32 reserved;
	__u64 address;			/* page-aligned */
	__u64 data;			/* user pointer */
	__u64 length;			/* bytes, whole pages */
};

#endif /* _UAPI_CRYO_IOCTL_H */
