// SPDX-License-Identifier: GPL-2.0-only
/*
 * open.c - small files that the job only reads: their contents go into the context, as they may
 * have gone by the restart
 *
 * A batch system removes its copy of a script when the job ends, and a cleaner what is in /tmp. The
 * files are opened by their names all the same; their contents are there in case that leads to
 * nothing, or to something else.
 */
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/sizes.h>

#include <cryo/format.h>
#include <cryo/ioctl.h>

#include "capture/capture.h"
#include "compat/fs.h"
#include "paths/mounts.h"
#include "save/files.h"
#include "save/files/open.h"

#define DEFAULT_LIMIT	SZ_1M
#define DEFAULT_TOTAL	(16 * SZ_1M)

struct open_choice {
	u64 limit, left;		/* bytes: of one file, of all that follow */
	unsigned int omitted;
	struct cryo_object *first;	/* of these */
};

/*
 * Files that are made up when somebody looks have no size, or one that says nothing, and are never
 * gone.
 */
static bool is_stored(const struct inode *inode)
{
	switch (inode->i_sb->s_magic) {
	case SYSFS_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
	case RDTGROUP_SUPER_MAGIC:
	case PROC_SUPER_MAGIC:
	case EFIVARFS_MAGIC:
	/* Whose server may not answer: this is for convenience only. */
	case FUSE_SUPER_MAGIC:
		return false;
	case OVERLAYFS_SUPER_MAGIC:
		return true;
	}
	return inode->i_sb->s_export_op || i_size_read(inode) > 0;
}

/* What the job itself writes to must be the file that it writes to. */
static bool is_only_read(struct cryo_capture *c, const struct cryo_object *o)
{
	return o->kind == CRYO_FILE_PATH && (o->fd >= 0 || o->carrier >= 0) &&
	       S_ISREG(file_inode(o->file)->i_mode) && o->file->f_mode & FMODE_READ &&
	       !o->inode->written && !(o->inode->inode_flags & CRYO_INODE_DELETED) &&
	       !cryo_in_mounts(c, cryo_user_path(o->file)->mnt);
}

static void choose_open(struct open_choice *choice, struct cryo_object *o)
{
	const struct inode *inode = file_inode(o->file);
	u64 size = i_size_read(inode);

	if (o->inode->omitted || !is_stored(inode))
		return;
	if (size > choice->limit || size > choice->left) {
		o->inode->omitted = true;
		if (!choice->omitted++)
			choice->first = o;
		return;
	}
	choice->left -= size;
	o->inode->inode_flags |= CRYO_INODE_CONTENTS | CRYO_INODE_FALLBACK;
}

static void say_omitted(struct cryo_capture *c, const struct open_choice *choice)
{
	const struct cryo_object *o = choice->first;
	char *name;

	if (!o)
		return;
	name = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	if (!name)
		return;
	cryo_describe_file(o->file, name, PATH_MAX);
	if (choice->omitted > 1)
		cryo_warn(c, o->proc, "fd %d (%s): exceeds the limit of --save-open; its contents are not in the context (nor those of %u others)",
			  o->fd, name, choice->omitted - 1);
	else
		cryo_warn(c, o->proc, "fd %d (%s): exceeds the limit of --save-open; its contents are not in the context",
			  o->fd, name);
	kfree(name);
}

/*
 * What an interpreter reads its script from is closed when it executes a command: such descriptors
 * come first, before there is no room for more.
 */
int cryo_choose_open_files(struct cryo_capture *c)
{
	const struct cryo_checkpoint *args = &c->req->args;
	struct open_choice choice = {
		.limit = args->save_limit ?: DEFAULT_LIMIT,
		.left = args->save_total ?: DEFAULT_TOTAL,
	};
	struct cryo_object *o;
	int first, err = 0;

	for (first = 1; !err && first >= 0; first--) {
		list_for_each_entry(o, &c->files, node) {
			err = cryo_capture_interrupted(c);
			if (err)
				break;
			cond_resched();
			if (o->cloexec != first || !is_only_read(c, o))
				continue;
			if (o->inode->inode_flags & CRYO_INODE_CONTENTS)
				o->inode->inode_flags |= CRYO_INODE_FALLBACK;
			else if (args->flags & CRYO_CKPT_SAVE_OPEN)
				choose_open(&choice, o);
		}
	}
	say_omitted(c, &choice);
	return err;
}
