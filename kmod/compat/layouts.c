// SPDX-License-Identifier: GPL-2.0-only
/*
 * layouts.c - compares what Cryo takes on trust about the kernel with what the kernel says of
 * itself
 *
 * The compiler does not tell when a structure changes that is private to a file of the kernel, and
 * neither does it when the headers that the module was compiled with are not those of the kernel,
 * as vendors change kernels. A word at the wrong place would be silent damage. So each such place
 * is in a list (layout_list.h), which is compared when the module is loaded; what differs is off,
 * and told by name. A kernel without type information, which is a matter of its configuration
 * (CONFIG_DEBUG_INFO_BTF), is believed to be as its version is.
 */
#include <linux/elf.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/stringify.h>

#include "af_unix.h"
#include "aio.h"
#include "btf.h"
#include "../cryo_arch.h"
#include "eventfd.h"
#include "eventpoll.h"
#include "fsnotify.h"
#include "io_uring.h"
#include "ipc.h"
#include "ksym.h"
#include "layout_note.h"
#include "layouts.h"
#include "mmu_notifier.h"
#include "mqueue.h"
#include "netlink.h"
#include "seccomp.h"
#include "timerfd.h"
#include "tty.h"

#define BTF_PATH	"/sys/kernel/btf/vmlinux"

#define GROUP(...)	+ 1
#define MEMBER(...)	+ 1
#define PLACE(...)	+ 1
#define BIT_BEHIND(...)	+ 1
#define SIZE(...)	+ 1
#define CONSTANT(...)	+ 1
#define FUNCTION(...)	+ 1
enum {
	NR_NOTES = 0
#include "layout_list.h"
};

#define GROUP(g, without)						\
	{ CRYO_LAYOUT_NOTE_GROUP, CRYO_LAYOUT_##g, 0, 0, #g, without },
#define MEMBER(g, type, member, copy, own)				\
	{ CRYO_LAYOUT_NOTE_MEMBER, CRYO_LAYOUT_##g, offsetof(copy, own) * 8,	\
	  sizeof_field(copy, own) * 8, #type, #member },
#define PLACE(g, type, member, copy, own)				\
	{ CRYO_LAYOUT_NOTE_MEMBER, CRYO_LAYOUT_##g, offsetof(copy, own) * 8, 0, #type, #member },
#define BIT_BEHIND(g, type, member, copy, own)				\
	{ CRYO_LAYOUT_NOTE_MEMBER, CRYO_LAYOUT_##g, offsetofend(copy, own) * 8, 0,	\
	  #type, #member },
#define SIZE(g, type, copy)						\
	{ CRYO_LAYOUT_NOTE_SIZE, CRYO_LAYOUT_##g, 0, sizeof(copy) * 8, #type, "" },
#define CONSTANT(g, name, value)					\
	{ CRYO_LAYOUT_NOTE_CONSTANT, CRYO_LAYOUT_##g, value, 0, #name, "" },
#define FUNCTION(g, name, prototype)					\
	{ CRYO_LAYOUT_NOTE_FUNCTION, CRYO_LAYOUT_##g, 0, 0, __stringify(name), prototype },

/* Found in the file as well as in the module that is loaded: see layout_note.h. */
static const struct {
	struct elf64_note head;
	char name[8];
	struct cryo_layout_note notes[NR_NOTES];
} layouts __used __aligned(4) __section(CRYO_LAYOUT_SECTION) = {
	.head = {
		.n_namesz = sizeof(CRYO_LAYOUT_NOTE_NAME),
		.n_descsz = NR_NOTES * sizeof(struct cryo_layout_note),
		.n_type = CRYO_LAYOUT_NOTE_TYPE,
	},
	.name = CRYO_LAYOUT_NOTE_NAME,
	.notes = {
#include "layout_list.h"
	},
};

/*
 * What the kernel says of each note; of members and the size of one structure, the first has it of
 * all.
 */
static struct cryo_verdict {
	enum { NOT_THERE, FITS, DIFFERS } state;
	unsigned int bad;		/* the note that differs */
} verdicts[NR_NOTES];

static unsigned long off[BITS_TO_LONGS(CRYO_NR_LAYOUTS)];

static bool is_of_structure(const struct cryo_layout_note *note)
{
	return note->kind == CRYO_LAYOUT_NOTE_MEMBER || note->kind == CRYO_LAYOUT_NOTE_SIZE;
}

/* Where the notes end that are about the same as number @i. */
static unsigned int subject_end(unsigned int i)
{
	const struct cryo_layout_note *first = &layouts.notes[i];

	do {
		i++;
	} while (i < NR_NOTES && is_of_structure(first) && is_of_structure(&layouts.notes[i]) &&
		 layouts.notes[i].group == first->group &&
		 !strcmp(layouts.notes[i].name, first->name));
	return i;
}

static bool member_fits(const struct cryo_btf *btf, const struct btf_type *type,
			const struct cryo_layout_note *note)
{
	const char *from = strchr(note->detail, '>');
	u32 offset, bits, base = 0;
	char name[sizeof(note->detail)];

	if (from) {
		strscpy(name, note->detail, from - note->detail + 1);
		if (!cryo_btf_member(btf, type, name, &base, &bits))
			return false;
	}
	return cryo_btf_member(btf, type, from ? from + 1 : note->detail, &offset, &bits) &&
	       offset - base == note->offset && (!note->bits || bits == note->bits);
}

/* Several structures may have one name: it fits if one does. */
static void compare_structure(const struct cryo_btf *btf, const struct btf_type *type,
			      unsigned int first)
{
	struct cryo_verdict *verdict = &verdicts[first];
	unsigned int i, end = subject_end(first);

	for (i = first; i < end; i++) {
		const struct cryo_layout_note *note = &layouts.notes[i];
		bool fits = note->kind == CRYO_LAYOUT_NOTE_SIZE ? type->size * 8 == note->bits :
							       member_fits(btf, type, note);

		if (!fits)
			break;
	}
	if (i == end) {
		verdict->state = FITS;
	} else if (verdict->state == NOT_THERE) {
		verdict->state = DIFFERS;
		verdict->bad = i;
	}
}

static bool is_one_of(const char *prototype, const char *list)
{
	size_t len = strlen(prototype);

	for (; *list; list += strcspn(list, "|"), list += *list == '|')
		if (strcspn(list, "|") == len && !strncmp(list, prototype, len))
			return true;
	return false;
}

static void compare_function(const struct cryo_btf *btf, const struct btf_type *type,
			     unsigned int i)
{
	char prototype[16];

	if (cryo_btf_prototype(btf, type, prototype, sizeof(prototype)) &&
	    is_one_of(prototype, layouts.notes[i].detail))
		verdicts[i].state = FITS;
	else if (verdicts[i].state == NOT_THERE)
		verdicts[i] = (struct cryo_verdict){ DIFFERS, i };
}

static void compare_constants(const struct cryo_btf *btf, const struct btf_type *type)
{
	const struct btf_enum *value = (const void *)(type + 1);
	u32 n = BTF_INFO_VLEN(type->info);
	unsigned int i;

	for (; n--; value++) {
		const char *name = cryo_btf_name(btf, value->name_off);

		for (i = 0; i < NR_NOTES; i++)
			if (layouts.notes[i].kind == CRYO_LAYOUT_NOTE_CONSTANT &&
			    layouts.notes[i].name[0] == name[0] &&
			    !strcmp(layouts.notes[i].name, name))
				verdicts[i] = (struct cryo_verdict){
					value->val == layouts.notes[i].offset ? FITS : DIFFERS, i
				};
	}
}

static void compare_type(const struct cryo_btf *btf, const struct btf_type *type)
{
	bool function = BTF_INFO_KIND(type->info) == BTF_KIND_FUNC;
	const char *name = cryo_btf_name(btf, type->name_off);
	unsigned int i;

	for (i = 0; i < NR_NOTES; i = subject_end(i)) {
		const struct cryo_layout_note *note = &layouts.notes[i];

		/* Most differ in the first character. */
		if (note->name[0] != name[0] || strcmp(note->name, name))
			continue;
		if (function && note->kind == CRYO_LAYOUT_NOTE_FUNCTION)
			compare_function(btf, type, i);
		else if (!function && is_of_structure(note))
			compare_structure(btf, type, i);
	}
}

static void compare_all(const struct cryo_btf *btf)
{
	u32 id;

	for (id = 1; id < btf->nr; id++) {
		const struct btf_type *type = cryo_btf_type(btf, id);

		switch (BTF_INFO_KIND(type->info)) {
		case BTF_KIND_STRUCT:
		case BTF_KIND_FUNC:
			compare_type(btf, type);
			break;
		case BTF_KIND_ENUM:
			compare_constants(btf, type);
			break;
		}
	}
}

static const char *without_group(u32 group)
{
	unsigned int i;

	for (i = 0; i < NR_NOTES; i++)
		if (layouts.notes[i].kind == CRYO_LAYOUT_NOTE_GROUP &&
		    layouts.notes[i].group == group)
			return layouts.notes[i].detail;
	return "";
}

/*
 * A function without type information has been inlined or changed by the compiler, or is in none of
 * the configuration.
 */
static void switch_off(unsigned int i)
{
	const struct cryo_layout_note *note = &layouts.notes[i];
	bool there = verdicts[i].state != NOT_THERE;

	if (note->kind == CRYO_LAYOUT_NOTE_GROUP || verdicts[i].state == FITS ||
	    (note->kind == CRYO_LAYOUT_NOTE_FUNCTION && !there))
		return;
	pr_warn("%s%s %s%s differs in this kernel from what the module assumes: %s\n",
		is_of_structure(note) ? "struct " : "", note->name,
		there ? layouts.notes[verdicts[i].bad].detail : "",
		there ? "" : "(not found)", without_group(note->group));
	/* Of functions, each on its own: those that use them ask. */
	if (note->kind == CRYO_LAYOUT_NOTE_FUNCTION)
		return;
	__set_bit(note->group, off);
	cryo_missing_add(is_of_structure(note) ? "struct " : "", note->name);
}

void cryo_layouts_init(void)
{
	struct cryo_btf btf;
	int err = cryo_btf_open(&btf, BTF_PATH);
	unsigned int i;

	if (err) {
		pr_notice("private structures have not been compared with those of this kernel: %s: %pe\n",
			  BTF_PATH, ERR_PTR(err));
		return;
	}
	compare_all(&btf);
	cryo_btf_close(&btf);
	for (i = 0; i < NR_NOTES; i = subject_end(i))
		switch_off(i);
}

bool cryo_layout_fits(enum cryo_layout layout)
{
	return !test_bit(layout, off);
}

bool cryo_prototype_differs(const char *function)
{
	unsigned int i;

	for (i = 0; i < NR_NOTES; i++)
		if (layouts.notes[i].kind == CRYO_LAYOUT_NOTE_FUNCTION &&
		    !strcmp(layouts.notes[i].name, function))
			return verdicts[i].state == DIFFERS;
	return false;
}
