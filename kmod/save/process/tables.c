// SPDX-License-Identifier: GPL-2.0-only
/*
 * tables.c - descriptor tables and working directories that processes have in common (CLONE_FILES,
 * CLONE_FS)
 *
 * Each process of the context tells what is in its own all the same; those that share one name the
 * first process of the context that has it, whose table the others get at the end of a restart.
 */
#include <cryo/format.h>

#include "capture/capture.h"
#include "resources.h"
#include "save/process.h"

/* Does it have the descriptor table of a process that comes before it in the context? */
bool cryo_has_table_of_other(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_proc *first = cryo_first_sharer(c, p, CRYO_SHARED_FILES);

	return first && first != p;
}

static int save_shared_tables(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_proc *files = cryo_first_sharer(c, p, CRYO_SHARED_FILES);
	struct cryo_proc *fs = cryo_first_sharer(c, p, CRYO_SHARED_FS);
	struct cryo_shared_tables out = {
		.files = files ? files->pid : 0,
		.fs = fs ? fs->pid : 0,
	};

	if (!files && !fs)
		return 0;
	return cryo_stream_section(&c->stream, CRYO_SEC_SHARED_TABLES, p->pid, sizeof(out), &out,
				   sizeof(out));
}

const struct cryo_resource cryo_resource_shared_tables = {
	.save = save_shared_tables,
};
