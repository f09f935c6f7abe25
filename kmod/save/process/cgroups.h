/* SPDX-License-Identifier: GPL-2.0-only */
/* cgroups.h - what cgroup.c and the readers of control groups share */
#ifndef CRYO_CGROUPS_H
#define CRYO_CGROUPS_H

#include <linux/types.h>

#include "lib/buf.h"

struct cgroup;
struct cryo_capture;
struct cryo_cgroup;
struct file;
struct path;

/* cgroup_files.c */
int cryo_cgroup_mount(struct cryo_capture *c, struct path *root);
struct file *cryo_cgroup_open(const struct path *root, const struct cgroup *cgrp, const char *path);
void cryo_cgroup_describe(struct file *dir, struct cryo_cgroup *out);

/* The settings of one group. */
struct cryo_cgroup_texts {
	struct cryo_buf names;		/* of files, each with its NUL */
	struct cryo_buf settings;
	char *text;			/* of one file */
	u32 n;
	bool more;			/* there are others, or longer ones */
};

int cryo_cgroup_look(struct cryo_capture *c, struct file *dir, struct cryo_cgroup_texts *texts);
int cryo_cgroup_save(struct cryo_capture *c, u32 number, const struct cryo_cgroup_texts *texts);
void cryo_cgroup_texts_free(struct cryo_cgroup_texts *texts);

#endif /* CRYO_CGROUPS_H */
