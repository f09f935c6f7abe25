/* SPDX-License-Identifier: GPL-2.0-only */
/* exclusions.h - memory that a process does not want to be saved: as its library has told */
#ifndef CRYO_REQUEST_EXCLUSIONS_H
#define CRYO_REQUEST_EXCLUSIONS_H

#include <linux/types.h>

#include <cryo/client.h>

struct cryo_proc;
struct mm_struct;

struct cryo_exclusions {
	struct mm_struct *mm;		/* whose addresses these are; kept from being reused */
	u32 nr;
	struct cryo_client_range ranges[];
};

/* exclusions.c: ranges of memory of which a process does not need the contents */
struct cryo_exclusions *cryo_exclusions_copy(void __user *arg);
void cryo_exclusions_free(struct cryo_exclusions *x);
const struct cryo_client_range *cryo_exclusions_find(const struct cryo_proc *p, u64 start, u64 end);

#endif /* CRYO_REQUEST_EXCLUSIONS_H */
