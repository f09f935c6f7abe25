// SPDX-License-Identifier: GPL-2.0-only
/*
 * build_id.c - the build-id of a mapped program or library
 *
 * Size and modification time tell that a file may have changed; the build-id tells
 * whether its code has.  Read from the first page of the file as far as it is in the
 * page cache: a file system that does not answer must not stop a checkpoint, and the
 * first page of a program in use is nearly always there.
 */
#include <linux/elf.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/pagemap.h>
#include <linux/slab.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "save/files.h"

#define NOTE_BUILD_ID	3	/* NT_GNU_BUILD_ID */
#define NOTE_ALIGN(n)	(((size_t)(n) + 3) & ~(size_t)3)

/* A copy of the first page of @file; NULL: not at hand; or an error. */
static u8 *first_page(struct file *file)
{
	struct page *page = pagecache_get_page(file->f_mapping, 0, 0, 0);
	u8 *copy = NULL;
	void *data;

	if (!page)
		return NULL;
	if (!PageUptodate(page))
		goto put_page;
	copy = kmalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT);
	if (!copy) {
		copy = ERR_PTR(-ENOMEM);
		goto put_page;
	}
	data = kmap_local_page(page);
	memcpy(copy, data, PAGE_SIZE);
	kunmap_local(data);
put_page:
	put_page(page);
	return copy;
}

/* The identifier among the notes at @p, its length in *@len; NULL: none. */
static const u8 *find_in_notes(const u8 *p, size_t size, size_t *len)
{
	struct elf64_note note;
	size_t name, desc;

	while (size >= sizeof(note)) {
		memcpy(&note, p, sizeof(note));
		if (note.n_namesz > PAGE_SIZE || note.n_descsz > PAGE_SIZE)
			return NULL;
		name = sizeof(note);
		desc = name + NOTE_ALIGN(note.n_namesz);
		if (desc + note.n_descsz > size)
			return NULL;
		if (note.n_type == NOTE_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    !memcmp(p + name, "GNU", sizeof("GNU"))) {
			*len = note.n_descsz;
			return p + desc;
		}
		desc += NOTE_ALIGN(note.n_descsz);
		if (desc > size)
			return NULL;
		p += desc;
		size -= desc;
	}
	return NULL;
}

/* The same in the first @size bytes of an ELF file of this machine. */
static const u8 *find_build_id(const u8 *data, size_t size, size_t *len)
{
	const struct elf64_hdr *head = (const struct elf64_hdr *)data;
	const struct elf64_phdr *segment;
	const u8 *id;
	int i;

	if (memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_ident[EI_CLASS] != ELFCLASS64 ||
	    head->e_phentsize != sizeof(*segment) || head->e_phoff > size ||
	    head->e_phnum > (size - head->e_phoff) / sizeof(*segment) ||
	    head->e_phoff % __alignof__(*segment))
		return NULL;
	segment = (const struct elf64_phdr *)(data + head->e_phoff);
	for (i = 0; i < head->e_phnum; i++, segment++) {
		if (segment->p_type != PT_NOTE || segment->p_offset > size ||
		    segment->p_filesz > size - segment->p_offset)
			continue;
		id = find_in_notes(data + segment->p_offset, segment->p_filesz, len);
		if (id)
			return id;
	}
	return NULL;
}

/* Of a regular file that is mapped: its build-id, if it has one. */
int cryo_save_build_id(struct cryo_capture *c, struct cryo_object *o)
{
	const u8 *id;
	size_t len;
	u8 *page;
	int err = 0;

	if (!o->vma_start || !S_ISREG(file_inode(o->file)->i_mode))
		return 0;
	page = first_page(o->file);
	if (IS_ERR_OR_NULL(page))
		return PTR_ERR(page);
	id = find_build_id(page, PAGE_SIZE, &len);
	if (id && len && len <= CRYO_BUILD_ID_MAX)
		err = cryo_stream_section(&c->stream, CRYO_SEC_BUILD_ID, o->id, 0, id, len);
	kfree(page);
	return err;
}
