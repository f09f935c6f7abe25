/* SPDX-License-Identifier: GPL-2.0-only */
/* walk_path.h - resolve a path without waiting for a server */
#ifndef CRYO_LIB_WALK_PATH_H
#define CRYO_LIB_WALK_PATH_H

#include <linux/types.h>

struct path;
struct super_block;

/* walk_path.c: resolve a path without waiting for a server */
int cryo_walk_path(const struct path *root, const char *name, struct path *found);
int cryo_walk_own_path(const char *name, struct path *found);
bool cryo_is_at_hand(const struct super_block *sb);

#endif /* CRYO_LIB_WALK_PATH_H */
