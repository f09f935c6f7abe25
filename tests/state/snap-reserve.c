// SPDX-License-Identifier: GPL-2.0-only
/* The same from a snapshot: what is used of an area lies behind much that has no page tables. */
#define MEM_RESERVE_INCLUDED
#include "mem-reserve.c"

const struct crt_test crt_test = {
	.text = "1 TiB reservations are kept, and cost nothing, in a context from a snapshot",
	.setup = setup,
	.verify = verify,
	.flags = CRT_RUNS_ON,
	.checkpoint_args = "--snapshot",
	.max_context_kib = 4096,
};
