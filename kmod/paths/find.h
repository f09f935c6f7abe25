/* SPDX-License-Identifier: GPL-2.0-only */
/* find.h - names that lead to a file */
#ifndef CRYO_FIND_H
#define CRYO_FIND_H

#include <linux/types.h>

struct cryo_capture;
struct cryo_mounts;
struct cryo_object;
struct inode;
struct path;
struct task_struct;

/* find_path.c */

/**
 * cryo_not_found() - what does a failed lookup say: is nothing there, or could it not be made?
 * @err: of the lookup, negative
 *
 * Return: 0: nothing is there; -ENOMEM or -EINTR: it could not be made.
 */
int cryo_not_found(int err);

/**
 * cryo_path_leads_to() - is an inode what the requester finds at a path?
 * @path: the path
 * @inode: the inode
 *
 * Context: In the requester. May sleep; waits for no file system's server (cryo_walk_path()).
 *
 * Return: 1: it is; 0: it is not; -ENOMEM or -EINTR.
 */
int cryo_path_leads_to(const char *path, struct inode *inode);

/**
 * cryo_find_path() - find a path by which the requester reaches an inode
 * @c: the capture
 * @inode: the inode
 * @out: gets the path: room for PATH_MAX bytes
 *
 * Context: As of cryo_path_leads_to().
 *
 * Return: 0; -ENOENT: it has no name, or none that the requester can reach; -ENAMETOOLONG; -ENOMEM;
 * or an error of cryo_own_mounts() or cryo_capture_interrupted().
 */
int cryo_find_path(struct cryo_capture *c, struct inode *inode, char *out);

/**
 * cryo_find_path_inside() - find a path to an inode in a mount namespace of the job
 * @c: the capture
 * @m: the namespace
 * @inode: the inode
 * @out: gets the path there: room for PATH_MAX bytes
 *
 * Context: As of cryo_path_leads_to().
 *
 * Return: 0; -ENOENT: it has no name, or none that a path leads to; -ENOMEM; or an error of
 * cryo_capture_interrupted().
 */
int cryo_find_path_inside(struct cryo_capture *c, const struct cryo_mounts *m, struct inode *inode,
			  char *out);

/**
 * cryo_find_mount() - find the mount point of a mount, as the requester has it
 * @c: the capture
 * @id: of the mount, as in mountinfo; 0: any mount of @dev
 * @dev: device number of the file system, if @id is 0
 * @out: gets the path: room for PATH_MAX bytes
 *
 * Context: As of cryo_path_leads_to().
 *
 * Return: 0; -ENOENT: no path leads the requester there, or of mount @id, others are at that path,
 * too; -ENOMEM; or an error of cryo_own_mounts() or cryo_capture_interrupted().
 */
int cryo_find_mount(struct cryo_capture *c, u32 id, dev_t dev, char *out);

/* find_name.c */

/**
 * cryo_find_name() - find a name that leads to a path
 * @c: the capture
 * @path: the path, of an open file or a directory of a process
 * @buf: room for PATH_MAX bytes
 * @is_other: is true if the name is not the one that d_path() gives
 *
 * Its own name, if that has not been removed and leads there; else another one of the inode. In the
 * mount namespace of @path, if that is one of the job's own; else as the requester has it.
 *
 * Context: As of cryo_path_leads_to().
 *
 * Return: the name, somewhere in @buf; ERR_PTR(-ENOENT): there is none, or none is known; or
 * another ERR_PTR: -ENAMETOOLONG, or as of cryo_find_path().
 */
char *cryo_find_name(struct cryo_capture *c, const struct path *path, char *buf, bool *is_other);

/**
 * cryo_may_reach() - may a thread search all directories on the way to a path?
 * @c: the capture
 * @task: the thread
 * @path: the path; its own name leads to it
 *
 * File systems that are not at hand (cryo_is_at_hand()) are assumed to permit it.
 *
 * Context: In the requester. May sleep.
 *
 * Return: true: it may.
 */
bool cryo_may_reach(struct cryo_capture *c, struct task_struct *task, const struct path *path);

/**
 * cryo_has_other_name() - has a name been removed, and the file has other ones?
 * @path: the path of the file
 *
 * By the link count of the inode. False of files that are made up on access (proc, cgroup), and of
 * file systems that cannot be exported: these need not keep the count.
 *
 * Return: true: it has.
 */
bool cryo_has_other_name(const struct path *path);

/**
 * cryo_name_obstacle() - can a restart find an open file by a name?
 * @c: the capture
 * @o: the open file; its @name is set if another name than its own is to be saved, and its @kind
 *	and flags change if its contents are to be saved instead
 *
 * Warns, too, if the process may not open the file by that name.
 *
 * Context: In the requester. May sleep.
 *
 * Return: NULL: it can, or need not; a text for cryo_refuse(); or an ERR_PTR: -ENOMEM, or as of
 * cryo_find_name() but for -ENOENT and -ENAMETOOLONG.
 */
const char *cryo_name_obstacle(struct cryo_capture *c, struct cryo_object *o);

/* path_name.c */

/**
 * cryo_path_name() - the name of a path as the requester has it, by d_path()
 * @path: the path
 * @buf: room for the name
 * @size: of @buf, in bytes
 * @deleted: is true if d_path() has said " (deleted)", which is cut off
 *
 * The name may be removed at any time: what has been read counts.
 *
 * Return: the name, somewhere in @buf; or an ERR_PTR of d_path(): -ENAMETOOLONG.
 */
char *cryo_path_name(const struct path *path, char *buf, size_t size, bool *deleted);

#endif /* CRYO_FIND_H */
