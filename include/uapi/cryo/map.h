/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * map.h - mapped restart: memory that comes from the context when it is first used
 *
 * Commands of a restart handle; conventions as in ioctl.h.
 */
#ifndef _UAPI_CRYO_MAP_H
#define _UAPI_CRYO_MAP_H

#include <linux/types.h>

#include <cryo/ioctl.h>

/*
 * CRYO_RST_MAP_FILE: by the coordinator: areas of the handle's processes come from the file @fd,
 * which chunks call by the number @file. Nobody can open it for writing or cut it from then on
 * (ETXTBSY) until the last page of the last area that has pages of it has come. Removing it, or
 * another one that gets its name, does no harm.
 *
 * Errors: EBADF @fd is not open, for reading only; EPERM the caller neither owns it nor has
 * CAP_FOWNER; ETXTBSY somebody has it open for writing; EOPNOTSUPP its file system (only those on a
 * block device of this machine, and tmpfs, can), or the kernel, cannot do that, or it is switched
 * off; EBUSY the handle has a file of that number already; EINVAL @file is CRYO_MAP_MAX_FILES or
 * more, @reserved not 0; EINTR the caller is killed.
 */
#define CRYO_RST_MAP_FILE	_IO(CRYO_IOC_TYPE, 0x73)

struct cryo_map_file {
	__u32 size;			/* sizeof(struct cryo_map_file) */
	__s32 fd;
	__u32 file;			/* 0 to CRYO_MAP_MAX_FILES - 1 */
	__u32 reserved;
};

/* A context, and all that can have pages of it: 1 + CRYO_ANCESTORS_MAX. */
#define CRYO_MAP_MAX_FILES	129

/*
 * CRYO_RST_MAP: pages of an anonymous area of the caller come from files of CRYO_RST_MAP_FILE, each
 * when it is used first or, with CRYO_MAP_POPULATE, in the background before that, from when the
 * process goes on (CRYO_RST_COMMIT). The area is private, exactly what one mmap(2) has made
 * (PROT_NONE at best, so that it is not merged with others), and untouched. Protection, advice and
 * everything else may be changed afterwards. To the process it is ordinary memory; what it drops
 * (MADV_DONTNEED) is zero then.
 *
 * A page is given only after the checksum of its chunk has been found right; SIGBUS otherwise, and
 * a line in the kernel's log.
 *
 * Errors: EINVAL the area is not such a one, or the tables are not as described; ENXIO a chunk is
 * of a file that no CRYO_RST_MAP_FILE has named; ENOSPC the caller's memory has had 4096 areas, or
 * the tables of those that it has take 4 GiB; ENOMEM no memory; EINTR the caller is killed.
 */
#define CRYO_RST_MAP		_IO(CRYO_IOC_TYPE, 0x74)

#define CRYO_MAP_POPULATE	(1U << 0)
#define CRYO_MAP_FLAGS		((1U << 1) - 1)

#define CRYO_MAP_MAX_RUNS	(1U << 20)
#define CRYO_MAP_MAX_CHUNKS	(1U << 20)

/*
 * In the background, what lies behind the page that the process has waited for last comes first,
 * then the pages of @first, by address, then the rest.
 */
#define CRYO_MAP_MAX_FIRST	(1U << 16)

/* Consecutive pages; ascending, inside the area. Those that no file has are of no interest. */
struct cryo_map_range {
	__u64 start;			/* address */
	__u64 nr_pages;
};

/* Consecutive pages; ascending, inside the area, in the file inside of one chunk. */
struct cryo_map_run {
	__u64 start;			/* address */
	__u64 offset;			/* of the first page from the start of the chunk's file */
	__u32 nr_pages;
	__u32 chunk;			/* index of its chunk */
};

/* What has one checksum: up to CRYO_PAGES_MAX pages. */
struct cryo_map_chunk {
	__u64 offset;			/* page-aligned */
	__u16 nr_pages;
	__u16 file;			/* as of struct cryo_map_file */
	__u32 checksum;			/* lower half of the XXH64 (seed 0) */
};

struct cryo_map {
	__u32 size;			/* sizeof(struct cryo_map) */
	__u32 flags;			/* CRYO_MAP_* */
	__u64 start;			/* the area */
	__u64 end;
	__u64 runs;			/* user pointer to @nr_runs struct cryo_map_run */
	__u64 chunks;			/* user pointer to @nr_chunks struct cryo_map_chunk */
	__u32 nr_runs;
	__u32 nr_chunks;
	__u64 first;			/* user pointer to @nr_first struct cryo_map_range */
	__u32 nr_first;			/* 0: none comes before others */
	__u32 reserved;
};

#endif /* _UAPI_CRYO_MAP_H */
