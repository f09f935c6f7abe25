/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* format_namespaces.h - the part of format.h about namespaces */
#ifndef _UAPI_CRYO_FORMAT_NAMESPACES_H
#define _UAPI_CRYO_FORMAT_NAMESPACES_H

#include <linux/types.h>

/*
 * A namespace is named by its inode number, as /proc/PID/ns shows it; 0 is the one that the
 * requester has.  Without this section a process has all of the requester's.
 */
struct cryo_namespaces {
	__u32 user;
	__u32 mnt;
	__u32 uts;
	__u32 ipc;
	__u32 net;
	__u32 cgroup;
	__u32 time;
	__u32 time_for_children;
	__u32 pid;
	__u32 pid_for_children;
};

/* Of a pid namespace that only a process above it has, for its children. */
#define CRYO_PIDNS_UNUSED	(1U << 0)	/* no process has been in it yet */
#define CRYO_PIDNS_ENDED	(1U << 1)	/* with its first process: fork(2) fails with ENOMEM */

/* Each namespace that a process has or that owns such a one has this, and what it holds. */
struct cryo_ns {
	__u32 type;			/* CLONE_NEW* */
	__u32 owner;			/* user namespace; of a user namespace its parent */
	__u32 parent;			/* of a pid namespace */
	__u32 flags;			/* CRYO_PIDNS_* */
};

/* What a thread, process group or session of a process is called in a pid namespace below the requester's. */
struct cryo_nested_id {
	__s32 id;			/* in the requester's */
	__u32 ns;
	__s32 number;			/* in @ns */
	__u32 reserved;
};

#define CRYO_UTS_LEN	65		/* with a NUL */

struct cryo_ns_uts {
	__u8  nodename[CRYO_UTS_LEN];	/* NUL-padded */
	__u8  domainname[CRYO_UTS_LEN];	/* NUL-padded */
	__u8  reserved[6];
};

#define CRYO_USER_SETGROUPS	(1U << 0)	/* setgroups(2) is allowed */

#define CRYO_MAX_ID_RANGES	340

/* The ranges of uids come first. */
struct cryo_ns_user {
	__u32 nr_uids;
	__u32 nr_gids;
	__u32 record_size;		/* of a range */
	__u32 flags;			/* CRYO_USER_* */
	__u32 owner_uid;		/* who made it, in the requester's user namespace */
	__u32 reserved;
};

struct cryo_id_range {
	__u32 first;			/* inside */
	__u32 lower_first;		/* in the parent */
	__u32 count;
	__u32 reserved;
};

/* What its clocks showed at the checkpoint. */
struct cryo_ns_time {
	__s64 monotonic_ns;
	__s64 boottime_ns;
};

/* Limits of System V objects and POSIX queues, as in /proc/sys/kernel and /proc/sys/fs/mqueue. */
struct cryo_ns_ipc {
	__u64 shmmax;
	__u64 shmall;
	__u32 shmmni;
	__u32 shm_rmid_forced;
	__u32 sem[4];			/* SEMMSL SEMMNS SEMOPM SEMMNI */
	__u32 msgmax;
	__u32 msgmnb;
	__u32 msgmni;
	__u32 queues_max;
	__u32 msg_max;
	__u32 msgsize_max;
	__u32 msg_default;
	__u32 msgsize_default;
	/* Not in early contexts: */
	__u32 next_id[4];		/* [CRYO_IPC_KIND_*]: what its next object gets (kernel.sem_next_id), plus 1; 0: the kernel's choice */
};

#define CRYO_NET_LOOPBACK_UP	(1U << 0)

/*
 * With nothing but the loopback device.  Tail: settings, a line for each, the name of a file below
 * /proc/sys/net and what can be written to it.
 */
struct cryo_ns_net {
	__u32 flags;			/* CRYO_NET_* */
	__u32 reserved;
};

#define CRYO_MAX_MOUNTS		10000

#define CRYO_NS_MNT_GROUPS	(1U << 0)	/* mounts are shared with, or slaves of, others of the namespace */

/*
 * What is mounted.  Tail: struct cryo_mount for each mount; the text of /proc/PID/mountinfo of a process in
 * it, a line for each mount in the same order; and that of the requester.
 */
struct cryo_ns_mnt {
	__u32 nr_mounts;
	__u32 record_size;		/* of struct cryo_mount */
	__u32 text_len;			/* of the first text */
	__u32 flags;			/* CRYO_NS_MNT_* */
};

#define CRYO_MOUNT_BIND		1	/* of what the requester has, too */
#define CRYO_MOUNT_NEW		2	/* a new one of its type; in a tmpfs are MOUNT_ENTRYs */
#define CRYO_MOUNT_AGAIN	3	/* of what a new one shows: that with the same device in the text */

struct cryo_mount {
	__u32 id;			/* as in the text */
	__u32 kind;			/* CRYO_MOUNT_* */
	__u32 pid_ns;			/* which a proc file system shows; 0: the requester's */
	__u32 reserved;
};

#define CRYO_MAX_MOUNT_ENTRIES	100000
#define CRYO_MAX_MOUNT_PATH	4095

/* Major and minor: /dev/null, zero, full, random, urandom, tty and ptmx. An initializer. */
#define CRYO_TMPFS_DEVICES	{						\
	{ 1, 3 }, { 1, 5 }, { 1, 7 }, { 1, 8 }, { 1, 9 }, { 5, 0 }, { 5, 2 } }

/*
 * A file in a tmpfs that is made anew, the directory that is mounted included.  A directory comes, with a smaller
 * number, before what is in it.  Contents of regular files are in PAGES of kind CRYO_PAGES_TMPFS.  Of a file with
 * several names, the first has all, and the others have a link to it.
 * Tail: path from what is mounted, without a slash in front; target of a symbolic link.
 */
struct cryo_mount_entry {
	__u32 ns;			/* mount namespace */
	__u32 mount;			/* struct cryo_mount there */
	__u32 mode;			/* with type: S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO, S_IFSOCK or S_IFCHR */
	__u32 uid;			/* as the namespace's owner counts */
	__u32 gid;
	__u32 path_len;			/* bytes; at most CRYO_MAX_MOUNT_PATH */
	__u32 link;			/* another name of this one before it, in the same mount; 0: none */
	__u32 rdev;			/* of a device: one that every container has, CRYO_TMPFS_DEVICES */
	__u64 size;			/* of a regular file */
	__s64 atime_ns;			/* since 1970 */
	__s64 mtime_ns;
};

#endif /* _UAPI_CRYO_FORMAT_NAMESPACES_H */
