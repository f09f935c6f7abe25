/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * coverage.h - what tests reach of the module: see coverage.c
 */
#ifndef CRYO_COVERAGE_H
#define CRYO_COVERAGE_H

#ifdef CONFIG_CRYO_COVERAGE
/* Called by what the compiler has put in. */
void __sanitizer_cov_trace_pc(void);

/**
 * cryo_coverage_init() - create the file of the coverage in debugfs
 *
 * Context: In the module's init. A kernel without debugfs is no error.
 */
void cryo_coverage_init(void);

/**
 * cryo_coverage_exit() - remove it
 *
 * Context: In the module's exit.
 */
void cryo_coverage_exit(void);
#else
static inline void cryo_coverage_init(void)
{
}

static inline void cryo_coverage_exit(void)
{
}
#endif

#endif
