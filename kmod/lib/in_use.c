// SPDX-License-Identifier: GPL-2.0-only
/*
 * in_use.c - how many there are of what keeps the module loaded, for the administrator
 *
 * rmmod(8) says "in use", and the module's reference count has everything in one number: each of
 * these is a file in the directory cryo of debugfs. Numbers alone: whose they are, debugfs, which
 * is root's, need not tell either.
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>

#include "lib/in_use.h"
#include "lib/unload.h"

static atomic_t uses[CRYO_NR_USES];
static struct dentry *in_use_dir;

static const char *const use_names[CRYO_NR_USES] = {
	[CRYO_USE_CHECKPOINT] = "checkpoints",
	[CRYO_USE_RESTART] = "restarts",
	[CRYO_USE_PARTICIPANT] = "participants",
	[CRYO_USE_MEMORY] = "mapped_memories",
};

void cryo_use_begin(enum cryo_use what)
{
	atomic_inc(&uses[what]);
}

void cryo_use_end(enum cryo_use what)
{
	atomic_dec(&uses[what]);
}

void cryo_in_use_init(void)
{
	unsigned int i;

	in_use_dir = debugfs_create_dir("cryo", NULL);
	for (i = 0; i < CRYO_NR_USES; i++)
		debugfs_create_atomic_t(use_names[i], 0400, in_use_dir, &uses[i]);
	debugfs_create_atomic_t("works", 0400, in_use_dir, cryo_unload_works());
}

void cryo_in_use_exit(void)
{
	debugfs_remove(in_use_dir);
}
