/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * btf.h - the kernel's type information, as it lies in /sys/kernel/btf/vmlinux
 */
#ifndef CRYO_COMPAT_BTF_H
#define CRYO_COMPAT_BTF_H

#include <linux/types.h>
#include <uapi/linux/btf.h>

struct cryo_btf {
	void *data;
	size_t size;
	const char *strings;
	u32 strings_len;
	const u8 *types;
	u32 types_len;
	u32 *places;			/* of each type in @types; number 0 is void */
	u32 nr;				/* with void */
};

/* -ENOENT, and other errors: there is none that can be read. */
int cryo_btf_open(struct cryo_btf *btf, const char *path);
void cryo_btf_close(struct cryo_btf *btf);

/* NULL: no such type, or void. */
const struct btf_type *cryo_btf_type(const struct cryo_btf *btf, u32 id);
/* "" where it has none. */
const char *cryo_btf_name(const struct cryo_btf *btf, u32 offset);

/* Where @path, "a.b", is in structure @type, in bits. False: nowhere. */
bool cryo_btf_member(const struct cryo_btf *btf, const struct btf_type *type, const char *path,
		     u32 *offset, u32 *bits);

/* What function @type returns and takes, as layout_note.h writes it. False: that is not known. */
bool cryo_btf_prototype(const struct cryo_btf *btf, const struct btf_type *type, char *out,
			size_t size);

#endif
