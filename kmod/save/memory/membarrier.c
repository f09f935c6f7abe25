// SPDX-License-Identifier: GPL-2.0-only
/* membarrier.c - registrations of membarrier(2) */
#include <linux/membarrier.h>
#include <linux/sched/mm.h>

#include "save/memory.h"

/* The MEMBARRIER_CMD_REGISTER_* commands that bring @mm's registrations back. */
u32 cryo_membarrier_commands(struct mm_struct *mm)
{
	static const struct {
		u32 ready;
		u32 command;
	} map[] = {
		{ MEMBARRIER_STATE_GLOBAL_EXPEDITED, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED },
		{ MEMBARRIER_STATE_PRIVATE_EXPEDITED, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED },
		{ MEMBARRIER_STATE_PRIVATE_EXPEDITED_SYNC_CORE,
		  MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE },
		{ MEMBARRIER_STATE_PRIVATE_EXPEDITED_RSEQ,
		  MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ },
	};
	u32 state = atomic_read(&mm->membarrier_state);
	u32 commands = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(map); i++)
		if (state & map[i].ready)
			commands |= map[i].command;
	return commands;
}
