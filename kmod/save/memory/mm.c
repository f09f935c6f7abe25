// SPDX-License-Identifier: GPL-2.0-only
/* mm.c - the address space: its areas and bounds, not its contents */
#include <linux/file.h>
#include <linux/log2.h>
#include <linux/magic.h>
#include <linux/mempolicy.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/userfaultfd_k.h>

#include <cryo/format.h>
#include <cryo/ioctl.h>

#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "capture/uprobes.h"
#include "compat/aio.h"
#include "compat/hugetlb.h"
#include "compat/mm.h"
#include "cryo_arch.h"
#include "lazy/map.h"
#include "lib/buf.h"
#include "resources.h"
#include "save/files.h"
#include "save/files/uring.h"
#include "save/ipc.h"
#include "save/memory.h"
#include "save/memory/hugetlb.h"

static const struct {
	unsigned long vm;
	u64 out;
} vma_flags[] = {
	{ VM_READ, CRYO_VMA_READ },
	{ VM_WRITE, CRYO_VMA_WRITE },
	{ VM_EXEC, CRYO_VMA_EXEC },
	/* of a file open for reading only it has no VM_SHARED */
	{ VM_MAYSHARE, CRYO_VMA_SHARED },
	{ VM_MAYREAD, CRYO_VMA_MAYREAD },
	{ VM_MAYWRITE, CRYO_VMA_MAYWRITE },
	{ VM_MAYEXEC, CRYO_VMA_MAYEXEC },
	{ VM_GROWSDOWN, CRYO_VMA_GROWSDOWN },
	{ VM_LOCKED, CRYO_VMA_LOCKED },
	{ VM_LOCKONFAULT, CRYO_VMA_LOCKONFAULT },
	{ VM_NORESERVE, CRYO_VMA_NORESERVE },
	{ VM_DONTCOPY, CRYO_VMA_DONTFORK },
	{ VM_DONTDUMP, CRYO_VMA_DONTDUMP },
	{ VM_WIPEONFORK, CRYO_VMA_WIPEONFORK },
	{ VM_HUGEPAGE, CRYO_VMA_HUGEPAGE },
	{ VM_NOHUGEPAGE, CRYO_VMA_NOHUGEPAGE },
	{ VM_MERGEABLE, CRYO_VMA_MERGEABLE },
	{ VM_SEQ_READ, CRYO_VMA_SEQ_READ },
	{ VM_RAND_READ, CRYO_VMA_RAND_READ },
	{ VM_SYNC, CRYO_VMA_SYNC },
};

static u64 vma_flags_of(unsigned long vm_flags)
{
	u64 flags = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(vma_flags); i++)
		if (vm_flags & vma_flags[i].vm)
			flags |= vma_flags[i].out;
	return flags;
}

/* A ring of io_uring: what is in it is saved with the ring. */
static bool is_uring(struct vm_area_struct *vma)
{
	return vma->vm_file && vma->vm_flags & VM_SHARED && cryo_is_uring(vma->vm_file);
}

/* What stands in the way of saving @vma, or NULL. */
static const char *vma_obstacle(struct vm_area_struct *vma)
{
	if (vma->vm_flags & (VM_PFNMAP | VM_IO | VM_MIXEDMAP) && !is_uring(vma))
		return "memory of a device";
	if (userfaultfd_armed(vma))
		return "memory registered with userfaultfd";
	if (cryo_vma_sealed(vma))
		return "memory sealed by mseal()";
	if (vma->vm_flags & VM_UFFD_MISSING)
		return "memory registered with userfaultfd";
	if (cryo_map_is_poisoned(vma))
		return "memory that could not be read from a context";
	return (is_vm_hugetlb_page(vma) ? cryo_hugetlb_obstacle(vma) : NULL) ?:
	       cryo_arch_vma_obstacle(vma);
}

static void describe_vma(struct cryo_capture *c, struct vm_area_struct *vma, char *buf,
			 size_t size)
{
	size_t n = scnprintf(buf, size, "memory %lx-%lx", vma->vm_start, vma->vm_end);

	if (vma->vm_file && n + 3 < size) {
		n += scnprintf(buf + n, size - n, " (");
		cryo_describe_file(vma->vm_file, buf + n, size - n - 1);
		strlcat(buf, ")", size);
	}
}

static void check_vma(struct cryo_capture *c, struct cryo_proc *p, struct vm_area_struct *vma)
{
	const char *obstacle = vma_obstacle(vma);
	char *name;

	if (!obstacle)
		return;
	name = kmalloc(PATH_MAX, GFP_KERNEL_ACCOUNT);
	if (name)
		describe_vma(c, vma, name, PATH_MAX);
	cryo_refuse(c, p, "%s: %s is not supported", name ?: "memory", obstacle);
	kfree(name);
}

/* Whether the contents of a mapped file go into the context although it has a name. */
static bool save_anyway(struct cryo_capture *c, struct cryo_proc *p, struct vm_area_struct *vma)
{
	u32 flags = c->req->args.flags;

	if (p->exe && file_inode(vma->vm_file) == file_inode(p->exe))
		return flags & CRYO_CKPT_SAVE_EXE;
	if (vma->vm_flags & VM_MAYSHARE)
		return flags & CRYO_CKPT_SAVE_SHARED;
	return flags & CRYO_CKPT_SAVE_PRIVATE;
}

/* Written through the mapping, or may be. */
static bool shares_memory(struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_SHARED && vma->vm_flags & VM_MAYWRITE;
}

static int collect_file_vma(struct cryo_capture *c, struct cryo_proc *p, struct vm_area_struct *vma,
			    struct cryo_vma_record *r)
{
	struct cryo_object *o;
	int is_shm = 0;

	if (cryo_is_aio_ring(vma->vm_file)) {
		r->out.kind = CRYO_VMA_AIO;
		return 0;
	}
	o = cryo_object_file(c, p, vma->vm_file);
	if (!o)
		return -ENOMEM;
	o->refs++;
	if (!o->vma_start)
		o->vma_start = vma->vm_start;
	/*
	 * Shared anonymous memory can be opened (/proc/PID/map_files), and mapped like any file
	 * then.
	 */
	r->out.kind = cryo_is_sysv(vma->vm_file) ? CRYO_VMA_SYSV :
		      cryo_is_shared_anon(vma->vm_file) && vma->vm_flags & VM_MAYSHARE ?
		      CRYO_VMA_SHMEM : CRYO_VMA_FILE;
	o->inode->attached++;
	r->out.file = o->id;
	r->out.offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	r->pages = r->anon_only = !(vma->vm_flags & VM_MAYSHARE);
	if (save_anyway(c, p, vma) && !is_uring(vma))
		o->inode->inode_flags |= CRYO_INODE_CONTENTS;
	else if (shares_memory(vma))
		is_shm = cryo_is_posix_shm(vma->vm_file);
	if (is_shm > 0)
		o->inode->inode_flags |= CRYO_INODE_CONTENTS | CRYO_INODE_POSIX_SHM;
	return min(is_shm, 0);
}

static int collect_contents(struct cryo_capture *c, struct cryo_proc *p,
			    struct vm_area_struct *vma, struct cryo_vma_record *r)
{
	if (vma->vm_file && !cryo_vma_is_private_huge(vma))
		return collect_file_vma(c, p, vma, r);
	r->out.kind = CRYO_VMA_ANON;
	r->pages = !cryo_vma_droppable(vma);
	if (!r->pages)
		r->out.flags |= CRYO_VMA_DROPPABLE;
	return 0;
}

static int collect_vma(struct cryo_capture *c, struct cryo_proc *p, struct vm_area_struct *vma)
{
	struct cryo_vma_record *r = &p->vmas[p->nr_vmas++];
	u32 special = cryo_special_kind(vma);

	r->out.start = vma->vm_start;
	r->out.end = vma->vm_end;
	r->out.flags = vma_flags_of(vma->vm_flags) | cryo_arch_vma_flags(vma);
	if (cryo_vma_shadow_stack(vma))
		r->out.flags |= CRYO_VMA_SHADOW_STACK;
	if (special) {
		r->out.kind = special;
		return 0;
	}
	r->out.pkey = cryo_arch_vma_pkey(vma);
	if (is_vm_hugetlb_page(vma)) {
		r->huge = cryo_huge_page_size(file_inode(vma->vm_file));
		r->out.flags |= CRYO_VMA_HUGETLB;
		r->out.huge_shift = ilog2(r->huge);
	}
	check_vma(c, p, vma);
	return collect_contents(c, p, vma, r) ?: cryo_collect_area(p, vma, &r->out);
}

/* With mmap_lock held for reading. */
static int collect_locked(struct cryo_capture *c, struct cryo_proc *p)
{
	lockdep_assert_held(&p->mm->mmap_lock);
	VMA_ITERATOR(vmi, p->mm, 0);
	struct vm_area_struct *vma;
	int err;

	p->vmas = kvcalloc(p->mm->map_count, sizeof(*p->vmas), GFP_KERNEL_ACCOUNT);
	if (!p->vmas)
		return -ENOMEM;
	p->exe = cryo_get_mm_exe_file(p->mm);
	if (p->exe && !cryo_object_file(c, p, p->exe))
		return -ENOMEM;
	for_each_vma(vmi, vma) {
		if (WARN_ON_ONCE(p->nr_vmas == p->mm->map_count))
			return -EIO;
		if (cryo_is_uprobe_area(vma))
			continue;
		err = collect_vma(c, p, vma);
		if (err)
			return err;
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return 0;
}

static int collect_vmas(struct cryo_capture *c, struct cryo_proc *p)
{
	int err;

	err = cryo_mmap_read_lock(c->req, p->mm);
	if (err)
		return err;
	err = collect_locked(c, p);
	mmap_read_unlock(p->mm);
	return err;
}

static void fill_mm(struct cryo_mm *out, struct mm_struct *mm)
{
	spin_lock(&mm->arg_lock);
	out->start_code = mm->start_code;
	out->end_code = mm->end_code;
	out->start_data = mm->start_data;
	out->end_data = mm->end_data;
	out->start_brk = mm->start_brk;
	out->brk = mm->brk;
	out->start_stack = mm->start_stack;
	out->arg_start = mm->arg_start;
	out->arg_end = mm->arg_end;
	out->env_start = mm->env_start;
	out->env_end = mm->env_end;
	spin_unlock(&mm->arg_lock);
	out->def_flags = vma_flags_of(mm->def_flags) & (CRYO_VMA_LOCKED | CRYO_VMA_LOCKONFAULT);
	out->thp_disabled = cryo_thp_disabled(mm);
	out->pkeys = cryo_arch_pkeys(mm);
	out->membarrier = cryo_membarrier_commands(mm);
}

static size_t auxv_len(const struct mm_struct *mm)
{
	size_t n = 0;

	while (n + 1 < ARRAY_SIZE(mm->saved_auxv) && mm->saved_auxv[n])
		n += 2;
	return min_t(size_t, n + 2, ARRAY_SIZE(mm->saved_auxv));
}

static int save_mm(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_mm out = { .nr_vmas = p->nr_vmas };
	struct cryo_buf buf = {};
	unsigned int i;
	int err;

	fill_mm(&out, p->mm);
	if (p->exe)
		out.exe_file = cryo_object_find(c, p->exe)->id;
	err = cryo_save_vdso(c, p, &out);
	if (err)
		return err;
	cryo_buf_put(&buf, &out, sizeof(out));
	BUILD_BUG_ON(sizeof(p->mm->saved_auxv[0]) != sizeof(u64));
	cryo_buf_put(&buf, p->mm->saved_auxv, auxv_len(p->mm) * sizeof(u64));
	err = cryo_stream_buf(&c->stream, CRYO_SEC_MM, p->mm_id, sizeof(out), &buf);
	for (i = 0; !err && i < p->nr_vmas; i++) {
		struct cryo_vma *vma = &p->vmas[i].out;

		err = cryo_stream_section(&c->stream, CRYO_SEC_VMA, p->mm_id, sizeof(*vma), vma,
					  sizeof(*vma));
	}
	return err;
}

static void release_mm(struct cryo_proc *p)
{
	kvfree(p->vmas);
	p->vmas = NULL;
	p->nr_vmas = 0;
	if (p->exe)
		fput(p->exe);
	p->exe = NULL;
}

const struct cryo_resource cryo_resource_mm = {
	.collect_memory = collect_vmas,
	.save_memory = save_mm,
	.release = release_mm,
};
