// SPDX-License-Identifier: GPL-2.0-only
/*
 * map_calls.c - mapped restart: what is asked for by the calls of a restart handle
 *
 * Done to the memory of the caller only, and from files that he owns.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/stddef.h>

#include <cryo/ioctl.h>

#include "access/switches.h"
#include "compat/mm.h"
#include "lazy/map.h"
#include "lib/args.h"

/* CRYO_RST_MAP_FILE. */
long cryo_restart_map_file(struct cryo_map_files *files, void __user *arg)
{
	struct cryo_map_source *made;
	struct cryo_map_file args;
	int err;

	err = cryo_copy_args(&args, sizeof(args), sizeof(args), arg);
	if (err)
		return err;
	if (!cryo_has(CRYO_FEATURE_MAP))
		return -EOPNOTSUPP;
	if (args.file >= CRYO_MAP_MAX_FILES || args.reserved)
		return -EINVAL;
	args.file = array_index_nospec(args.file, CRYO_MAP_MAX_FILES);
	err = cryo_vma_changes_works();
	if (err)
		return err;
	made = cryo_map_source_get(args.fd);
	if (IS_ERR(made))
		return PTR_ERR(made);
	if (!cmpxchg(&files->sources[args.file], NULL, made))
		return 0;
	cryo_map_source_put(made);
	return -EBUSY;
}

/*
 * Where the area has not all that a fork() needs, its first page comes at once, though nobody waits
 * for it.
 */
static int add_area(struct cryo_map_mm *map, struct cryo_map_table *t, const struct cryo_map *args)
{
	int err = cryo_map_add(map, t, args);

	if (err == -EOPNOTSUPP)
		err = cryo_map_load_around(map, t, t->runs[0].chunk,
					   args->start + (t->runs[0].page << PAGE_SHIFT), false);
	if (!err && args->flags & CRYO_MAP_POPULATE)
		WRITE_ONCE(map->populates, true);
	return err;
}

/* CRYO_RST_MAP. @files has what has come with CRYO_RST_MAP_FILE. */
long cryo_restart_map(struct cryo_map_files *files, void __user *arg)
{
	struct cryo_map_table *t;
	struct cryo_map_mm *map;
	struct cryo_map args;
	int err;

	err = cryo_copy_args(&args, sizeof(args), offsetofend(struct cryo_map, nr_chunks), arg);
	if (err)
		return err;
	t = cryo_map_table_make(&args, files);
	if (IS_ERR(t))
		return PTR_ERR(t);
	map = cryo_map_make();
	err = PTR_ERR_OR_ZERO(map);
	if (!err) {
		err = add_area(map, t, &args);
		cryo_map_put(map);
	}
	cryo_map_table_put(t);
	return err;
}
