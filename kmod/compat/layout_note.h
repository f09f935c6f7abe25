/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * layout_note.h - what the module takes for granted of the kernel it was compiled for
 *
 * An ELF note of cryo.ko: a program finds it in the file, or of the module that is loaded in
 * /sys/module/cryo/notes, and compares it with the kernel's type information (BTF). The module
 * itself does that, too.
 */
#ifndef CRYO_COMPAT_LAYOUT_NOTE_H
#define CRYO_COMPAT_LAYOUT_NOTE_H

#include <linux/types.h>

#define CRYO_LAYOUT_SECTION	".note.cryo.layouts"
#define CRYO_LAYOUT_NOTE_NAME	"Cryo"
#define CRYO_LAYOUT_NOTE_TYPE	1	/* changes with struct cryo_layout_note */

enum cryo_layout_kind {
	CRYO_LAYOUT_NOTE_GROUP,		/* @detail: what is off when something of it differs */
	/* of a structure: at @offset, and of @bits if that is not 0 */
	CRYO_LAYOUT_NOTE_MEMBER,
	CRYO_LAYOUT_NOTE_SIZE,		/* of a structure: @bits */
	CRYO_LAYOUT_NOTE_CONSTANT,	/* an enumerator, @offset is its value */
	/* what it returns and takes is one of @detail, separated by "|" */
	CRYO_LAYOUT_NOTE_FUNCTION,
};

/*
 * Groups come before what is in them, and members of one structure together. @detail of a member is
 * its name; "a.b" is a member of a member, "a>b" tells where b is counted from a. Of a function it
 * is one character each: v nothing, p a pointer, 1 2 4 8 a number of that size, s a structure.
 */
struct cryo_layout_note {
	__u32 kind;
	__u32 group;
	__u32 offset;
	__u32 bits;
	char name[40];
	char detail[72];
};

#endif
