// SPDX-License-Identifier: GPL-2.0-only
/*
 * The same from a snapshot, and with so little memory that a page of one process has not been written yet when
 * the same page of the next one is taken: the context has it once all the same.
 */
#define SIZE ((size_t)3 << 20)
#define ADVICE MADV_NOHUGEPAGE
#define MEM_COW_INCLUDED
#include "mem-cow.c"

static void setup_small(void)
{
	if (CRT_SYS(sysconf(_SC_PAGESIZE)) != (long)PAGE)
		crt_skip("pages are larger, and fewer are written at a time");
	setup();
}

const struct crt_test crt_test = {
	.text = "memory in common since fork() is each process's own, and is once in a context from a snapshot",
	.setup = setup_small,
	.verify = verify,
	.flags = CRT_RUNS_ON,
	.checkpoint_args = "--snapshot",
	.max_context_kib = 4 << 10,
};
