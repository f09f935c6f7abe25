/* SPDX-License-Identifier: GPL-2.0-only */
/* walk_path.h - path lookup that waits for no file system's server */
#ifndef CRYO_LIB_WALK_PATH_H
#define CRYO_LIB_WALK_PATH_H

#include <linux/types.h>

struct path;
struct super_block;

/* walk_path.c */

/**
 * cryo_walk_path() - look up a path without waiting for a file system's server
 * @root: what "/" is
 * @name: the path, as d_path() has it: no symbolic link in it is followed
 * @found: gets what is there, with a reference, if 0 is returned
 *
 * File systems in user space or across a network are asked only for what is cached; where that does
 * not suffice, a dentry that is in the cache is taken for what is there.
 *
 * Context: With the rights of the caller. May sleep.
 *
 * Return: 0; -EINTR: the caller is killed; or another negative errno of the lookup, as -ENOENT,
 * -EACCES or -ENAMETOOLONG.
 */
int cryo_walk_path(const struct path *root, const char *name, struct path *found);

/**
 * cryo_walk_own_path() - cryo_walk_path() from the root of the caller
 * @name: the path
 * @found: gets what is there, with a reference, if 0 is returned
 *
 * Context: As of cryo_walk_path().
 *
 * Return: as of cryo_walk_path().
 */
int cryo_walk_own_path(const char *name, struct path *found);

/**
 * cryo_is_at_hand() - are the files of a file system on a disk of this machine, or in its memory?
 * @sb: the super block
 *
 * Return: true: they are; false: of any other file system, FUSE among them.
 */
bool cryo_is_at_hand(const struct super_block *sb);

#endif /* CRYO_LIB_WALK_PATH_H */
