// SPDX-License-Identifier: GPL-2.0-only
/*
 * hugetlb.c - memory in pages of hugetlbfs
 *
 * All of it is of a file there, which has pages of one size. Private anonymous memory has one of
 * its own, in which there is nothing: it is saved as other private memory (memory/pages.c), and no
 * file of it. What is shared is in the file, of which the contents are saved: where it has a name,
 * too, as it is in memory, and lost with that.
 */
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/magic.h>
#include <linux/mm.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/fs.h"
#include "compat/hugetlb.h"
#include "cryo_arch.h"
#include "resources.h"
#include "save/memory/hugetlb.h"

#define ANONYMOUS	"anon_hugepage"		/* its name in the kernel's own mount */

bool cryo_is_hugetlb(const struct file *file)
{
	return file_inode(file)->i_sb->s_magic == HUGETLBFS_MAGIC;
}

/* Of one of the kernel's own mounts: memfd, anonymous memory, System V segments. */
bool cryo_is_kernel_hugetlb(const struct file *file)
{
	return cryo_is_hugetlb(file) && file_inode(file)->i_sb->s_flags & SB_KERNMOUNT;
}

static bool is_anonymous(const struct file *file)
{
	return cryo_is_kernel_hugetlb(file) &&
	       !strcmp(file->f_path.dentry->d_name.name, ANONYMOUS);
}

/* Private anonymous memory. */
bool cryo_vma_is_private_huge(struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_HUGETLB && !(vma->vm_flags & VM_MAYSHARE) && vma->vm_file &&
	       is_anonymous(vma->vm_file);
}

/* What stands in the way of saving @vma, which is of hugetlbfs; or NULL. */
const char *cryo_hugetlb_obstacle(struct vm_area_struct *vma)
{
	/* Who may open /proc/PID/map_files can put something into the file of private memory. */
	if (cryo_vma_is_private_huge(vma) && READ_ONCE(vma->vm_file->f_mapping->nrpages))
		return "private hugetlb memory whose file has been opened and written to";
	if (cryo_arch_is_tagged(cryo_arch_vma_flags(vma)))
		return "tagged hugetlb memory";
	return NULL;
}

static bool is_named(const struct file *file, const char *prefix)
{
	return !strncmp(file->f_path.dentry->d_name.name, prefix, strlen(prefix));
}

/* Without a name in any file system; or NULL. */
static const char *classify_internal(struct cryo_object *o)
{
	if (is_named(o->file, "memfd:"))
		o->inode->inode_flags |= CRYO_INODE_MEMFD;
	else if (is_anonymous(o->file))
		o->inode->inode_flags |= CRYO_INODE_SHMEM;
	else if (is_named(o->file, "SYSV"))
		o->inode->inode_flags |= CRYO_INODE_SYSV;
	else
		return file_inode(o->file)->i_sb->s_type->name;	/* no kernel makes any others */
	o->inode->inode_flags |= CRYO_INODE_CONTENTS | CRYO_INODE_DELETED;
	if (o->inode->inode_flags & CRYO_INODE_SYSV)
		o->kind = CRYO_FILE_SYSV;
	if (o->fd < 0 && o->carrier < 0)
		return NULL;
	if (o->kind == CRYO_FILE_SYSV)
		return "a descriptor of System V shared memory";
	return o->inode->inode_flags & CRYO_INODE_SHMEM ?
	       "a descriptor of anonymous hugetlb memory" : NULL;
}

/* @o is a regular file of hugetlbfs; @removed: without a name. */
const char *cryo_classify_hugetlb(struct cryo_object *o, bool removed)
{
	o->kind = CRYO_FILE_HUGETLB;
	o->inode->kind = CRYO_FILE_HUGETLB;
	if (cryo_is_kernel_hugetlb(o->file))
		return classify_internal(o);
	o->inode->inode_flags |= CRYO_INODE_CONTENTS | (removed ? CRYO_INODE_DELETED : 0);
	return NULL;
}

/* Of an inode. */
static int save_hugetlb(struct cryo_capture *c, struct cryo_object *o)
{
	struct cryo_hugetlb out = {
		.page_shift = ilog2(cryo_huge_page_size(file_inode(o->file))),
	};

	return cryo_stream_section(&c->stream, CRYO_SEC_HUGETLB, o->id, sizeof(out), &out,
				   sizeof(out));
}

const struct cryo_file_kind cryo_file_kind_hugetlb = {
	.kind = CRYO_FILE_HUGETLB,
	.save_inode = save_hugetlb,
};
