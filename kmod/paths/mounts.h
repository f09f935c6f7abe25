/* SPDX-License-Identifier: GPL-2.0-only */
/* mounts.h - what save/ns/mount_ns.c and its callers share */
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
	/* of the requester's: whether its mount point leads to it */
	u8 reached;
};

/* cryo_mount_line.reached */
enum { CRYO_REACH_UNKNOWN, CRYO_REACHED, CRYO_NOT_REACHED };

struct cryo_mount_table {
	char *text;			/* as it was read */
	char *cut;			/* what the lines point into */
	struct cryo_mount_line *lines;	/* in the order of the text */
	/* the device's number, and in the lower half that of the line */
	u64 *by_device;
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
	/* struct path, counted: those of its mounts that a path leads to */
	struct cryo_buf seen;
	struct cryo_buf records;	/* struct cryo_mount, in the order of @theirs */
	/* struct cryo_tmpfs_node, directories before what is in them */
	struct list_head nodes;
	/* struct cryo_tmpfs_node, by inode: those with several names */
	struct xarray linked;
	struct vfsmount *reading;	/* whose files are being looked at */
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
struct cryo_mount_table *cryo_mount_table_of(struct cryo_capture *c, pid_t pid);
void cryo_mount_table_free(struct cryo_mount_table *t);
struct cryo_mount_table *cryo_own_mounts(struct cryo_capture *c);
struct cryo_mount_line *cryo_next_mount(const struct cryo_mount_table *t, dev_t dev, u32 *at);

/* save/ns/mount_ns.c */
int cryo_check_mounts(struct cryo_capture *c, struct cryo_proc *p);
struct cryo_mounts *cryo_mounts_of(struct cryo_capture *c, struct task_struct *task);
struct cryo_mounts *cryo_in_mounts(struct cryo_capture *c, const struct vfsmount *mnt);
const void *cryo_mount_space(struct task_struct *task);
u32 cryo_mounts_number(struct cryo_capture *c, struct task_struct *task);
int cryo_save_mounts(struct cryo_capture *c, struct cryo_mounts *m);
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
