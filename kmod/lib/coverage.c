// SPDX-License-Identifier: GPL-2.0-only
/*
 * coverage.c - what tests reach of the module
 *
 * Only in a module built with CRYO_COVERAGE=yes; others have none of this. The compiler puts a call
 * of __sanitizer_cov_trace_pc() at the beginning of each basic block, as for KCOV, but of this
 * module only and on any kernel: the module has the function itself. The file cryo_coverage in
 * debugfs has a bit for each place that such a call has come back to, whatever task it was. Bit
 * COVERAGE_BYTES / 2 is the beginning of the function; tests/coverage reads it.
 */
#ifdef CONFIG_CRYO_COVERAGE
#include <linux/bitops.h>
#include <linux/debugfs.h>

#include "lib/coverage.h"

/* The kernel has a name for this only where it has KCOV itself. */
#define UNCOUNTED	__attribute__((no_sanitize_coverage))
#define COVERAGE_BYTES	(4L << 20)	/* of code, before and behind the function */

static unsigned long reached[BITS_TO_LONGS(COVERAGE_BYTES)];
static struct debugfs_blob_wrapper blob = { .data = reached, .size = sizeof(reached) };
static struct dentry *file;

UNCOUNTED notrace noinline __used void __sanitizer_cov_trace_pc(void)
{
	long place = _RET_IP_ - (unsigned long)__sanitizer_cov_trace_pc + COVERAGE_BYTES / 2;

	if (place >= 0 && place < COVERAGE_BYTES && !test_bit(place, reached))
		set_bit(place, reached);
}

UNCOUNTED void cryo_coverage_init(void)
{
	file = debugfs_create_blob("cryo_coverage", 0400, NULL, &blob);
}

UNCOUNTED void cryo_coverage_exit(void)
{
	debugfs_remove(file);
}
#endif
