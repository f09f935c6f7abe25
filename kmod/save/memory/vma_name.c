// SPDX-License-Identifier: GPL-2.0-only
/* vma_name.c - names that a process has given to its anonymous memory (PR_SET_VMA_ANON_NAME) */
#include <linux/mm.h>
#include <linux/string.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/mm.h"
#include "lib/buf.h"
#include "resources.h"
#include "save/memory.h"

struct cryo_named_vma {
	struct cryo_vma_name head;
	char name[CRYO_VMA_NAME_MAX + 1];
};

/* With mmap_lock held: the name may change without it. */
static int collect_vma_name(struct cryo_proc *p, struct vm_area_struct *vma,
			    const struct cryo_vma *area)
{
	struct cryo_named_vma out = { .head = { vma->vm_start, vma->vm_end } };
	struct cryo_buf *notes = &p->notes[CRYO_NOTE_VMA_NAMES];
	const char *name = cryo_vma_anon_name(vma);

	lockdep_assert_held(&vma->vm_mm->mmap_lock);
	if (!name || (area->kind != CRYO_VMA_ANON && area->kind != CRYO_VMA_SHMEM))
		return 0;
	if (strscpy(out.name, name, sizeof(out.name)) <= 0)
		return 0;
	cryo_buf_put(notes, &out, sizeof(out));
	return notes->error;
}

static int save_vma_names(struct cryo_capture *c, struct cryo_proc *p)
{
	const struct cryo_buf *notes = &p->notes[CRYO_NOTE_VMA_NAMES];
	const struct cryo_named_vma *named = (void *)notes->data;
	size_t n = notes->len / sizeof(*named);
	int err = 0;

	for (; !err && n; n--, named++)
		err = cryo_stream_section(&c->stream, CRYO_SEC_VMA_NAME, p->mm_id,
					  sizeof(named->head), named,
					  sizeof(named->head) + strlen(named->name));
	return err;
}

const struct cryo_resource cryo_resource_vma_names = {
	.collect_area = collect_vma_name,
	.save_memory = save_vma_names,
};
