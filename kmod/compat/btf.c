// SPDX-License-Identifier: GPL-2.0-only
/*
 * btf.c - reads the kernel's type information (BTF)
 *
 * The kernel has it for programs of BPF, and exports no function that looks into it. What describes
 * structures for everybody is a file, whose format is a part of the user interface
 * (Documentation/bpf/btf.rst). Whatever is wrong in it ends in "cannot be told", never in a read
 * past its end.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "btf.h"

/* Typedefs, arrays and members in each other. */
#define BTF_DEPTH	16

/* How many bytes follow struct btf_type. */
static size_t btf_behind(const struct btf_type *type)
{
	u32 n = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(u32);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return n * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return n * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return n * sizeof(struct btf_var_secinfo);
	default:
		return 0;
	}
}

/*
 * Calls for each type; with @places, notes where it is. The number of types with void, or 0: they
 * do not fit.
 */
static u32 walk_types(const struct cryo_btf *btf, u32 *places)
{
	u32 at = 0, n = 1;

	while (at < btf->types_len) {
		const struct btf_type *type = (const void *)(btf->types + at);
		size_t left = btf->types_len - at;

		if (left < sizeof(*type) || left - sizeof(*type) < btf_behind(type) ||
		    BTF_INFO_KIND(type->info) > BTF_KIND_ENUM64)
			return 0;
		if (places)
			places[n] = at;
		n++;
		at += sizeof(*type) + btf_behind(type);
	}
	return n;
}

static bool btf_part(const struct cryo_btf *btf, const struct btf_header *head, u32 offset, u32 len)
{
	size_t from, end;

	return !check_add_overflow((size_t)head->hdr_len, (size_t)offset, &from) &&
	       !check_add_overflow(from, (size_t)len, &end) && end <= btf->size;
}

/* Of struct btf_header, which has got members that what pahole(1) writes need not have. */
#define BTF_HEADER	offsetofend(struct btf_header, str_len)

static int parse_btf(struct cryo_btf *btf)
{
	const struct btf_header *head = btf->data;
	const u8 *parts;

	if (btf->size < BTF_HEADER || head->magic != BTF_MAGIC || head->version != BTF_VERSION ||
	    head->hdr_len < BTF_HEADER || head->hdr_len % sizeof(u32) ||
	    head->type_off % sizeof(u32) ||
	    !head->str_len || !btf_part(btf, head, head->type_off, head->type_len) ||
	    !btf_part(btf, head, head->str_off, head->str_len))
		return -EINVAL;
	parts = (const u8 *)btf->data + head->hdr_len;
	btf->types = parts + head->type_off;
	btf->types_len = head->type_len;
	btf->strings = (const char *)parts + head->str_off;
	btf->strings_len = head->str_len;
	btf->nr = walk_types(btf, NULL);
	if (!btf->nr || btf->strings[btf->strings_len - 1])
		return -EINVAL;
	btf->places = kvmalloc_array(btf->nr, sizeof(*btf->places), GFP_KERNEL);
	if (!btf->places)
		return -ENOMEM;
	walk_types(btf, btf->places);
	return 0;
}

/*
 * Not kernel_read_file(), which security modules (IPE) take for something to be executed, and warn
 * of.
 */
static ssize_t read_whole(struct file *file, void **data)
{
	loff_t size = i_size_read(file_inode(file)), pos = 0;
	ssize_t n = 0;

	if (size <= 0 || size > INT_MAX)
		return -EFBIG;
	*data = vmalloc(size);
	if (!*data)
		return -ENOMEM;
	while (pos < size) {
		n = kernel_read(file, *data + pos, size - pos, &pos);
		if (n <= 0)
			break;
	}
	return n < 0 ? n : pos;
}

int cryo_btf_open(struct cryo_btf *btf, const char *path)
{
	struct file *file = filp_open(path, O_RDONLY, 0);
	ssize_t len;
	int err;

	memset(btf, 0, sizeof(*btf));
	if (IS_ERR(file))
		return PTR_ERR(file);
	len = read_whole(file, &btf->data);
	filp_close(file, NULL);
	btf->size = max_t(ssize_t, len, 0);
	err = len < 0 ? len : parse_btf(btf);
	if (err)
		cryo_btf_close(btf);
	return err;
}

void cryo_btf_close(struct cryo_btf *btf)
{
	kvfree(btf->places);
	vfree(btf->data);
	memset(btf, 0, sizeof(*btf));
}

const struct btf_type *cryo_btf_type(const struct cryo_btf *btf, u32 id)
{
	if (!id || id >= btf->nr)
		return NULL;
	return (const void *)(btf->types + btf->places[id]);
}

const char *cryo_btf_name(const struct cryo_btf *btf, u32 offset)
{
	return offset < btf->strings_len ? btf->strings + offset : "";
}

/* What a name of a type, or of a type that cannot be written, stands for. */
static const struct btf_type *resolve_type(const struct cryo_btf *btf, u32 id)
{
	const struct btf_type *type = cryo_btf_type(btf, id);
	int i;

	for (i = 0; type && i < BTF_DEPTH; i++) {
		switch (BTF_INFO_KIND(type->info)) {
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_CONST:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_TYPE_TAG:
			type = cryo_btf_type(btf, type->type);
			continue;
		}
		return type;
	}
	return NULL;
}

/* In bytes; 0: it cannot be told. */
static u32 btf_size(const struct cryo_btf *btf, u32 id)
{
	u32 times = 1;
	int i;

	for (i = 0; i < BTF_DEPTH; i++) {
		const struct btf_type *type = resolve_type(btf, id);
		const struct btf_array *array = (const void *)(type + 1);

		if (!type)
			return 0;
		switch (BTF_INFO_KIND(type->info)) {
		case BTF_KIND_INT:
		case BTF_KIND_FLOAT:
		case BTF_KIND_ENUM:
		case BTF_KIND_ENUM64:
		case BTF_KIND_STRUCT:
		case BTF_KIND_UNION:
			return check_mul_overflow(times, type->size, &times) ? 0 : times;
		case BTF_KIND_PTR:
			return times * sizeof(void *);
		case BTF_KIND_ARRAY:
			if (check_mul_overflow(times, array->nelems, &times) || times > INT_MAX / 8)
				return 0;
			id = array->type;
			continue;
		}
		return 0;
	}
	return 0;
}

static bool is_composite(const struct btf_type *type)
{
	return BTF_INFO_KIND(type->info) == BTF_KIND_STRUCT ||
	       BTF_INFO_KIND(type->info) == BTF_KIND_UNION;
}

/* Where a member is, in bits; a bit field has its size beside that. */
static u32 member_at(const struct btf_type *type, const struct btf_member *m)
{
	return BTF_INFO_KFLAG(type->info) ? BTF_MEMBER_BIT_OFFSET(m->offset) : m->offset;
}

static u32 member_bits(const struct cryo_btf *btf, const struct btf_type *type,
		       const struct btf_member *m)
{
	u32 bits = BTF_INFO_KFLAG(type->info) ? BTF_MEMBER_BITFIELD_SIZE(m->offset) : 0;

	return bits ?: btf_size(btf, m->type) * 8;
}

/*
 * The member of this name, also of a structure without a name that is a member, a few of which are
 * in each other. @into: its type when it is a structure.
 */
static bool find_member(const struct cryo_btf *btf, const struct btf_type *type, const char *name,
			size_t len, u32 *offset, u32 *bits, const struct btf_type **into)
{
	struct {
		const struct btf_type *type;
		u32 next, base;
	} levels[BTF_DEPTH] = { { type } };
	int depth = 0;

	while (depth >= 0) {
		const struct btf_type *inside = levels[depth].type;
		const struct btf_member *m = (const void *)(inside + 1);
		const char *found;

		if (levels[depth].next == BTF_INFO_VLEN(inside->info)) {
			depth--;
			continue;
		}
		m += levels[depth].next++;
		found = cryo_btf_name(btf, m->name_off);
		*offset = levels[depth].base + member_at(inside, m);
		*into = resolve_type(btf, m->type);
		if (*into && !is_composite(*into))
			*into = NULL;
		if (!strncmp(found, name, len) && !found[len]) {
			*bits = member_bits(btf, inside, m);
			return true;
		}
		if (!*found && *into && depth + 1 < BTF_DEPTH) {
			depth++;
			levels[depth].type = *into;
			levels[depth].next = 0;
			levels[depth].base = *offset;
		}
	}
	return false;
}

bool cryo_btf_member(const struct cryo_btf *btf, const struct btf_type *type, const char *path,
		     u32 *offset, u32 *bits)
{
	u32 sum = 0;

	for (;;) {
		size_t len = strcspn(path, ".");

		if (!type || !is_composite(type) ||
		    !find_member(btf, type, path, len, offset, bits, &type))
			return false;
		sum += *offset;
		if (!path[len])
			break;
		path += len + 1;
	}
	*offset = sum;
	return true;
}

/* One character for what is returned or taken; 0: of another kind. */
static char btf_letter(const struct cryo_btf *btf, u32 id)
{
	const struct btf_type *type = resolve_type(btf, id);

	if (!type)
		return id ? 0 : 'v';
	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_PTR:
		return 'p';
	case BTF_KIND_INT:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return type->size < 10 ? '0' + type->size : 0;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return 's';
	}
	return 0;
}

bool cryo_btf_prototype(const struct cryo_btf *btf, const struct btf_type *type, char *out,
			size_t size)
{
	const struct btf_type *proto = cryo_btf_type(btf, type->type);
	const struct btf_param *param;
	u32 i, n;

	if (!proto || BTF_INFO_KIND(proto->info) != BTF_KIND_FUNC_PROTO)
		return false;
	n = BTF_INFO_VLEN(proto->info);
	if (n + 2 > size)
		return false;
	param = (const void *)(proto + 1);
	out[0] = btf_letter(btf, proto->type);
	for (i = 0; i < n; i++)
		out[i + 1] = btf_letter(btf, param[i].type);
	out[n + 1] = '\0';
	return strlen(out) == n + 1;
}
