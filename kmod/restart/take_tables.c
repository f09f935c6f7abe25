// SPDX-License-Identifier: GPL-2.0-only
/*
 * take_tables.c - descriptor tables and working directories of processes that have them in common
 *
 * No call lets a process take another's: clone(2) alone makes them shared. Each process of a
 * restart makes one of its own, as if it were alone; before they all go on, those that share take
 * that of one of them, and drop their own.
 *
 * A reference is got while the process that it is taken from is parked, so that nothing is on its
 * way through its table without one; and it is used by its new owner on its way to user mode.
 */
#include <linux/fdtable.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

#include <cryo/ioctl.h>

#include "compat/fs_struct.h"
#include "compat/ksym.h"
#include "lib/locked_task.h"
#include "restart/take_tables.h"

static void put_fs(struct fs_struct *fs)
{
	bool last;

	cryo_fs_lock(fs);
	last = !--fs->users;
	cryo_fs_unlock(fs);
	if (last)
		cryo_free_fs_struct(fs);
}

/*
 * As clone(2): not while one of its users executes a program. That has counted the others already,
 * and decided whether it gets the rights of a set-user-id program.
 */
static bool get_fs(struct fs_struct *fs)
{
	bool got;

	cryo_fs_lock(fs);
	got = !fs->in_exec;
	fs->users += got;
	cryo_fs_unlock(fs);
	return got;
}

/* Working directories and roots are those of a mount namespace. */
bool cryo_tables_same_mounts(struct task_struct *a, struct task_struct *b)
{
	const struct mnt_namespace *of_a, *of_b;
	struct nsproxy *in;

	task_lock(a);
	in = cryo_nsproxy_of(a);
	of_a = in ? in->mnt_ns : NULL;
	task_unlock(a);
	task_lock(b);
	in = cryo_nsproxy_of(b);
	of_b = in ? in->mnt_ns : NULL;
	task_unlock(b);
	return of_a && of_a == of_b;
}

/* Of @from, which is parked: the tables that @t lacks. Put by cryo_tables_put() in any case. */
int cryo_tables_get(struct cryo_tables *t, struct task_struct *from, bool files, bool fs)
{
	int err = 0;

	if (!(cryo_ksym_features() & CRYO_FEATURE_SHARED_TABLES))
		return -EOPNOTSUPP;
	task_lock(from);
	/* It may have been killed meanwhile. */
	if ((files && !from->files) || (fs && !from->fs)) {
		err = -ESRCH;
		goto unlock;
	}
	if (fs && !get_fs(from->fs)) {
		err = -EAGAIN;
		goto unlock;
	}
	if (fs)
		t->fs = from->fs;
	if (files) {
		t->files = from->files;
		atomic_inc(&t->files->count);
	}
unlock:
	task_unlock(from);
	return err;
}

/* By the task that is to have them; then @t has its old ones. */
void cryo_tables_swap(struct cryo_tables *t)
{
	task_lock(current);
	if (t->files)
		swap(current->files, t->files);
	if (t->fs)
		swap(current->fs, t->fs);
	task_unlock(current);
}

void cryo_tables_put(struct cryo_tables *t)
{
	if (t->files)
		cryo_put_files_struct(t->files);
	if (t->fs)
		put_fs(t->fs);
	*t = (struct cryo_tables){};
}
