/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * take_tables.h - descriptor tables and working directories that processes have in common: see
 * take_tables.c
 */
#ifndef CRYO_TABLES_H
#define CRYO_TABLES_H

#include <linux/types.h>

struct files_struct;
struct fs_struct;
struct task_struct;

/* Of a task that shares them with another; NULL: not that one. Each counted. */
struct cryo_tables {
	struct files_struct *files;
	struct fs_struct *fs;
};

bool cryo_tables_same_mounts(struct task_struct *a, struct task_struct *b);
int cryo_tables_get(struct cryo_tables *t, struct task_struct *from, bool files, bool fs);
void cryo_tables_swap(struct cryo_tables *t);
void cryo_tables_put(struct cryo_tables *t);

#endif /* CRYO_TABLES_H */
