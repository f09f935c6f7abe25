/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* format_memory.h - the part of format.h about the contents of memory and of files, and where they are */
#ifndef _UAPI_CRYO_FORMAT_MEMORY_H
#define _UAPI_CRYO_FORMAT_MEMORY_H

#include <linux/types.h>

/* Sections PAGES and PAGE_DATA. */
#define CRYO_PAGES_MM		0	/* runs are addresses in the mm named by the section's object */
#define CRYO_PAGES_INODE	1	/* runs are byte offsets in the inode named by the object */
#define CRYO_PAGES_TMPFS	2	/* runs are byte offsets in the file named by the object: a MOUNT_ENTRY */

#define CRYO_PAGES_MAX		512	/* pages in one PAGES section, at most */

struct cryo_pages {
	__u32 kind;			/* CRYO_PAGES_MM ... */
	__u32 nr_runs;
	__u32 record_size;		/* sizeof(struct cryo_page_run) */
	__u32 nr_pages;			/* in all runs: PAGE_DATA has this many pages, in the order of the runs */
};

struct cryo_page_run {
	__u64 start;			/* page-aligned */
	__u64 nr_pages;
};

/* Pages whose bytes are in an earlier PAGE_DATA section: another process had the same ones. */
struct cryo_page_copy {
	__u64 start;			/* address, page-aligned */
	__u64 nr_pages;
	__u64 offset;			/* of the bytes, from the start of the context */
};

/*
 * Private anonymous memory whose contents the process did not want to be saved: there are no pages of it
 * here. Tells how much is missing; a restart needs nothing of it.
 */
struct cryo_excluded {
	__u64 start;			/* addresses, page-aligned */
	__u64 end;
	__u64 nr_pages;			/* in use, at most */
};

/*
 * VMA_NAME: what the process has named an area of anonymous memory, private or shared (PR_SET_VMA_ANON_NAME of
 * prctl(2)).  The tail is the name, in ASCII characters that can be printed, without NUL.  Ascending.
 */
#define CRYO_VMA_NAME_MAX	79	/* bytes of a name: ANON_VMA_NAME_MAX_LEN, without NUL */

struct cryo_vma_name {
	__u64 start;			/* as of a CRYO_SEC_VMA of the same mm */
	__u64 end;
};

/*
 * PAGES_USED: private anonymous pages that the process has used since the checkpoint before, as far as that is known; a
 * restart may bring them first.  Ascending in all sections of an mm together. With many runs, pages between those that were
 * used count as used, too; also some that are in no area.
 */
#define CRYO_USED_MAX		4096	/* runs in one section, at most */
#define CRYO_USED_MAX_RUNS	65536	/* in all sections of an mm, at most */

/*
 * Tail records of CRYO_SEC_GUARDS: pages that the process has made guards (MADV_GUARD_INSTALL), each run in one area.  Ascending in
 * all sections of an mm together.  Nothing else is saved of them.
 */
#define CRYO_GUARDS_MAX		4096	/* runs in one section, at most */

/*
 * AIO: a context of io_setup(2) with no request under way.  The tail is the events that have not been taken: struct io_event of
 * <linux/aio_abi.h>, from @head on up to @tail, behind the last one of the ring the first.
 */
#define CRYO_AIO_EVENTS		32	/* bytes of a ring before its events */
#define CRYO_AIO_EVENT_SIZE	32

struct cryo_aio {
	__u64 start;			/* its id, and where its ring is: all of a CRYO_SEC_VMA of the same mm */
	__u64 size;			/* of that, in bytes */
	__u32 max_reqs;			/* that io_setup(2) was asked for */
	__u32 nr;			/* events that the ring has room for */
	__u32 head;
	__u32 tail;
};

/*
 * Tags of memory that is checked against the tags of addresses: PAGE_TAGS.  After the runs come the tags of each of their
 * pages, in the same order, in @tag_bytes bytes: one of four bits for every CRYO_TAG_GRANULE bytes of the page, and of two in
 * a byte the lower half is the first one's.  Pages that are not named have only tags that are zero.  All
 * tags are in each context, also those of pages whose bytes are elsewhere, or all zero.
 */
#define CRYO_TAG_GRANULE	16

struct cryo_page_tags {
	__u32 kind;			/* CRYO_PAGES_MM ... */
	__u32 nr_runs;
	__u32 record_size;		/* sizeof(struct cryo_page_run) */
	__u32 nr_pages;			/* in all runs: CRYO_PAGES_MAX at most */
	__u32 tag_bytes;		/* of a page: page_size / CRYO_TAG_GRANULE / 2 */
	__u32 reserved;
};

/* HUGETLB: of a file in hugetlbfs, whatever its kind. Its size and its areas are whole pages of that size. */
#define CRYO_HUGE_SHIFT_MAX	40

struct cryo_hugetlb {
	__u32 page_shift;		/* its pages are of 1 << @page_shift bytes */
	__u32 reserved;
};

/* ---- pages whose bytes are in other contexts ------------------------------ */

/*
 * Hashes are XXH3 of 128 bits, with seed 0, in its canonical form (big-endian): of a page, of its bytes; of a
 * context, of its file header and all of its section headers, in their order. Since these have
 * the checksums of all else, they tell the context from any other.
 */
#define CRYO_HASH_SIZE		16

#define CRYO_ANCESTORS_MAX	128
#define CRYO_ANCESTOR_NAME_MAX	4095	/* bytes */

/* A context that has bytes of this one. The name is relative to the directory of this context, or absolute. */
struct cryo_ancestor {
	__u8  id[CRYO_HASH_SIZE];
	__u64 length;			/* bytes, not compressed */
	__u32 name_len;
	__u32 reserved;
	/*
	 * Of its file, when it was first an ancestor: as long as both are the same, its bytes are.  0: not known,
	 * as in contexts whose records end before them.
	 */
	__u64 inode;			/* st_ino */
	__u64 changed_ns;		/* st_ctim, since the Epoch */
};

#define CRYO_ELSEWHERE_MAX	65536	/* pages in one PAGES_ELSEWHERE section, at most */

/*
 * Tail of PAGES_ELSEWHERE: its runs, ascending, then a hash of each page; or nothing after the runs: then the
 * checksums of the PAGE_DATA sections that they are in, which are part of the ancestor's identity, tell
 * whether the bytes are what they were.
 */
struct cryo_elsewhere_run {
	__u64 start;			/* as of struct cryo_page_run */
	__u64 offset;			/* of the bytes, from the start of the ancestor; page-aligned */
	__u32 nr_pages;
	__u32 ancestor;			/* the first of ANCESTORS is 1 */
};

/*
 * PAGES_UNCHANGED: what the module writes to its caller instead of pages that are as in the parent that was
 * named to it (CRYO_CKPT_PARENT), before all pages of this memory; without runs when all have been written to. The
 * caller makes PAGES_ELSEWHERE of it: in a context, there is none.  A page that the parent does not have is all zero.
 */
#define CRYO_UNCHANGED_MAX	4096	/* runs in one section, at most */

struct cryo_unchanged {
	__u32 parent;			/* number of this memory in the parent */
	__u32 nr_runs;
	__u32 record_size;		/* sizeof(struct cryo_page_run) */
	__u32 reserved;
};

/* ---- whether a file that is not in the context is what it was -------------- */

#define CRYO_BUILD_ID_MAX	64	/* bytes */

/*
 * Of a regular file that is open for writing: the bytes before its end, as they were. Who cuts it there, or adds to it, finds out
 * by them whether it is what it was. There is no such section where they were not at hand, or the requester may not read them.
 */
#define CRYO_END_BYTES_MAX	4096	/* at most */

struct cryo_file_end {
	__u32 length;			/* bytes before the size that the inode says; not 0, no more than these */
	__u32 crc;			/* CRC32C of them */
};

#endif /* _UAPI_CRYO_FORMAT_MEMORY_H */
