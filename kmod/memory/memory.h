/* SPDX-License-Identifier: GPL-2.0-only */
/* memory.h - pages of memory on their way into a context */
#ifndef CRYO_MEMORY_MEMORY_H
#define CRYO_MEMORY_MEMORY_H

#include <linux/types.h>

struct cryo_capture;
struct cryo_proc;
struct cryo_vma_record;

/* pages.c: which pages of private memory belong into the context */
u64 cryo_estimate_memory(const struct cryo_proc *p);
int cryo_save_memory(struct cryo_capture *c, struct cryo_proc *p);
int cryo_save_unchanged(struct cryo_capture *c, struct cryo_proc *p);

/* used.c: which private anonymous pages a process has used since the checkpoint before */
int cryo_save_used(struct cryo_capture *c, struct cryo_proc *p);

/* exclude.c: ranges of memory of which a process does not need the contents */
int cryo_exclusions_note(struct cryo_capture *c, struct cryo_proc *p,
			 const struct cryo_vma_record *v, u64 from, u64 to);
int cryo_save_exclusions(struct cryo_capture *c, struct cryo_proc *p);

#endif /* CRYO_MEMORY_MEMORY_H */
