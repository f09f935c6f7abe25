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
int cryo_not_found(int err);
int cryo_path_leads_to(const char *path, struct inode *inode);
int cryo_find_path(struct cryo_capture *c, struct inode *inode, char *out);
int cryo_find_path_inside(struct cryo_capture *c, const struct cryo_mounts *m, struct inode *inode,
			  char *out);
int cryo_find_mount(struct cryo_capture *c, u32 id, dev_t dev, char *out);

/* find_name.c */
char *cryo_find_name(struct cryo_capture *c, const struct path *path, char *buf, bool *is_other);
bool cryo_may_reach(struct cryo_capture *c, struct task_struct *task, const struct path *path);
bool cryo_has_other_name(const struct path *path);
const char *cryo_name_obstacle(struct cryo_capture *c, struct cryo_object *o);

/* path_name.c */
char *cryo_path_name(const struct path *path, char *buf, size_t size, bool *deleted);

#endif /* CRYO_FIND_H */
