/* SPDX-License-Identifier: GPL-2.0-only */
/* mounts.h - mount namespaces of the job, and tables of mounts */
#ifndef CRYO_MOUNTS_H
#define CRYO_MOUNTS_H

#include <linux/list.h>
#include <linux/path.h>
#include <linux/stat.h>
#include <linux/xarray.h>

#include "lib/buf.h"

struct cryo_capture;
struct cryo_object;
struct cryo_proc;
struct user_namespace;

/* A line of mountinfo: parts of it, unescaped. */
struct cryo_mount_line {
	u32 id, parent;
	u32 shared, master;		/* peer groups; 0: none */
	dev_t dev;
	char *root, *point, *type;
	u8 reached;			/* CRYO_REACH_*; of the requester's alone */
};

/* cryo_mount_line.reached: whether the mount point leads to the mount */
enum { CRYO_REACH_UNKNOWN, CRYO_REACHED, CRYO_NOT_REACHED };

struct cryo_mount_table {
	char *text;			/* as it was read */
	char *cut;			/* what the lines point into */
	struct cryo_mount_line *lines;	/* in the order of the text */
	u64 *by_device;			/* sorted: device number, and in the lower half the line */
	u32 n;
};

#define CRYO_FIRST_MOUNT	U32_MAX

/* A mount namespace of the job that the requester is not in. */
struct cryo_mounts {
	struct list_head list;
	const void *space;		/* which one it is, of parked processes */
	u32 number;
	struct user_namespace *owner;	/* counted */
	struct path root;		/* counted */
	bool other_root;		/* than the requester's */
	bool has_groups;		/* of its own mounts: shared, slaves of each other */
	struct cryo_mount_table *theirs;	/* of a process in it */
	struct cryo_buf seen;		/* struct path, counted: mounts that a path leads to */
	struct cryo_buf records;	/* struct cryo_mount, in the order of @theirs */
	struct list_head nodes;		/* struct cryo_tmpfs_node, parents first */
	struct xarray linked;		/* the same, by inode: those with several names */
	struct vfsmount *reading;	/* whose files are being read */
};

/* A file in a temporary file system. */
struct cryo_tmpfs_node {
	struct list_head list;
	struct path path;		/* counted */
	struct kstat stat;
	u32 id;
	u32 link;			/* the one before it that is the same file; 0: none */
	u32 mount;			/* its number in mountinfo */
	bool refused;
	char name[];			/* path from what is mounted */
};

/* mountinfo.c */

/**
 * cryo_mount_table_of() - read the mounts of the namespace of a process
 * @c: the capture
 * @pid: of the process, in the requester's pid namespace
 *
 * Context: In the requester. May sleep.
 *
 * Return: the table, for cryo_mount_table_free(); or an ERR_PTR: -ENOMEM; -E2BIG: the tables of @c
 * exceed CRYO_META_MAX; -EFBIG: this text alone is too long; -EIO: it is no mountinfo; or an error
 * of cryo_proc_open(), of reading or of cryo_capture_interrupted().
 */
struct cryo_mount_table *cryo_mount_table_of(struct cryo_capture *c, pid_t pid);

/**
 * cryo_mount_table_free() - free a table of mounts
 * @t: the table; NULL is fine
 */
void cryo_mount_table_free(struct cryo_mount_table *t);

/**
 * cryo_own_mounts() - the mounts of the requester, which are read once
 * @c: the capture
 *
 * Context: In the requester. May sleep.
 *
 * Return: the table, which belongs to @c; or an ERR_PTR as of cryo_mount_table_of().
 */
struct cryo_mount_table *cryo_own_mounts(struct cryo_capture *c);

/**
 * cryo_next_mount() - the next mount of a file system, in the order of mountinfo
 * @t: the table
 * @dev: device number of the file system
 * @at: CRYO_FIRST_MOUNT before the first call; is advanced
 *
 * Return: the mount, in @t; NULL: there is none left.
 */
struct cryo_mount_line *cryo_next_mount(const struct cryo_mount_table *t, dev_t dev, u32 *at);

/* save/ns/mount_ns.c */
int cryo_check_mounts(struct cryo_capture *c, struct cryo_proc *p);
struct cryo_mounts *cryo_mounts_of(struct cryo_capture *c, struct task_struct *task);

/**
 * cryo_in_mounts() - which mount namespace of the job is a mount in?
 * @c: the capture
 * @mnt: the mount
 *
 * Known of mounts that a path leads to.
 *
 * Return: the namespace, which belongs to @c; NULL: the requester's, or not known.
 */
struct cryo_mounts *cryo_in_mounts(struct cryo_capture *c, const struct vfsmount *mnt);

const void *cryo_mount_space(struct task_struct *task);
u32 cryo_mounts_number(struct cryo_capture *c, struct task_struct *task);
int cryo_save_mounts(struct cryo_capture *c, struct cryo_mounts *m);

/**
 * cryo_mounts_free() - free all mount namespaces of a capture, and the requester's table of mounts
 * @c: the capture; it need not have any
 *
 * Context: In the requester. May sleep.
 */
void cryo_mounts_free(struct cryo_capture *c);

/* save/ns/mount_files.c */
const char *cryo_mount_obstacle(struct cryo_capture *c, struct cryo_object *o);

/* save/ns/tmpfs.c */
void cryo_tmpfs_init(struct cryo_mounts *m);
int cryo_tmpfs_look(struct cryo_capture *c, struct cryo_proc *p, struct cryo_mounts *m, u32 mount,
		    const char *point, const struct path *at);
bool cryo_devpts_in_use(const struct path *at);
int cryo_save_tmpfs(struct cryo_capture *c, struct cryo_mounts *m);
void cryo_tmpfs_free(struct cryo_mounts *m);

#endif /* CRYO_MOUNTS_H */
