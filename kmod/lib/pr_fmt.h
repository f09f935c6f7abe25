/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pr_fmt.h - what lines in the kernel's log begin with
 *
 * The compiler reads it before each source (see Kbuild): <linux/printk.h>, which most of the
 * kernel's headers include, needs it before it, and all sources are compiled in one piece.
 */
#ifndef CRYO_LIB_PR_FMT_H
#define CRYO_LIB_PR_FMT_H

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#endif /* CRYO_LIB_PR_FMT_H */
