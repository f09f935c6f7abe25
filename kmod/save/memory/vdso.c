// SPDX-License-Identifier: GPL-2.0-only
/*
 * vdso.c - the code that this kernel maps into every process
 *
 * A program has its address from the auxiliary vector, and addresses of functions in it. On another
 * kernel cr_restart puts the old image there, with functions that lead to those of that kernel.
 */
#include <linux/crc32c.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "capture/read_memory.h"
#include "compat/vdso.h"
#include "cryo_arch.h"
#include "lib/buf.h"
#include "save/memory.h"

/*
 * What the kernel has mapped there by itself: by the name that /proc/PID/maps has, as flags and
 * operations differ between kernels, and the address in mm->context is kept when the program unmaps
 * the vdso.
 */
u32 cryo_special_kind(struct vm_area_struct *vma)
{
	const char *name = NULL;

	if (!vma->vm_file && vma->vm_ops && vma->vm_ops->name)
		name = vma->vm_ops->name(vma);
	if (!name)
		return 0;
	if (!strcmp(name, "[vdso]"))
		return CRYO_VMA_VDSO;
	return strstarts(name, "[vvar") ? CRYO_VMA_VVAR : 0;
}

/*
 * The first of the areas that end where the next one begins, up to the vdso: its data. 0: it has
 * none.
 */
static unsigned long data_area(struct mm_struct *mm)
{
	unsigned long vdso = cryo_arch_vdso(mm), start = vdso;
	struct vm_area_struct *vma;

	if (mmap_read_lock_killable(mm))
		return 0;
	while (start) {
		vma = find_vma(mm, start - 1);
		if (!vma || vma->vm_end != start || cryo_special_kind(vma) != CRYO_VMA_VVAR)
			break;
		start = vma->vm_start;
	}
	mmap_read_unlock(mm);
	return start == vdso ? 0 : start;
}

/*
 * The data are the same in all processes, but for those in time namespaces; and pages of a device
 * to everybody but the process itself: so those of the requester. Without them there are zeros,
 * which are as good for all clocks but the coarse ones.
 */
static int put_data(struct cryo_buf *buf)
{
	size_t offset = cryo_arch_vdso_data(), len = offset + CRYO_VDSO_DATA_SIZE;
	unsigned long area = data_area(current->mm);
	u8 *data;
	int put = 0;

	if (!area || len > PAGE_SIZE)
		return 0;
	data = kmalloc(len, GFP_KERNEL_ACCOUNT);
	if (!data)
		return -ENOMEM;
	if (!copy_from_user(data, (void __user *)area, len) &&
	    cryo_stop_vdso_clocks(data + offset)) {
		cryo_buf_put(buf, data, len);
		put = len;
	}
	kfree(data);
	return put;
}

static int write_section(struct cryo_capture *c, u32 crc, const u8 *image, u32 len)
{
	struct cryo_vdso out = { .image_len = len };
	struct cryo_buf buf = {};
	int put;

	cryo_buf_put(&buf, &out, sizeof(out));
	cryo_buf_put(&buf, image, len);
	put = put_data(&buf);
	if (put < 0 || buf.error) {
		cryo_buf_free(&buf);
		return put < 0 ? put : -ENOMEM;
	}
	((struct cryo_vdso *)buf.data)->data_len = put;
	return cryo_stream_buf(&c->stream, CRYO_SEC_VDSO, crc, sizeof(out), &buf);
}

static struct cryo_vma *find_image(struct cryo_proc *p)
{
	unsigned int i;

	for (i = 0; i < p->nr_vmas; i++)
		if (p->vmas[i].out.kind == CRYO_VMA_VDSO)
			return &p->vmas[i].out;
	return NULL;
}

/*
 * Writes the image, unless it has been written, and notes in @mm where it is mapped, and its
 * checksum.
 */
int cryo_save_vdso(struct cryo_capture *c, struct cryo_proc *p, struct cryo_mm *mm)
{
	struct cryo_vma *vma = find_image(p);
	u32 len = vma ? vma->end - vma->start : 0;
	u8 *image;
	int err;

	if (!vma)
		return 0;
	mm->vdso = vma->start;
	if (len > CRYO_VDSO_MAX)
		return -EFBIG;
	image = kvmalloc(len, GFP_KERNEL_ACCOUNT);
	if (!image)
		return -ENOMEM;
	err = cryo_read_memory(c->req, p->task, vma->start, image, len);
	if (err)
		goto free_image;
	mm->vdso_crc = ~crc32c(~0U, image, len);
	if (c->vdso_crc != mm->vdso_crc)
		err = write_section(c, mm->vdso_crc, image, len);
	c->vdso_crc = mm->vdso_crc;

free_image:
	kvfree(image);
	return err;
}
