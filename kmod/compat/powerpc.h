/* SPDX-License-Identifier: GPL-2.0-only */
/* asm/vdso_datapage.h of powerpc: for arch/ppc64le/kmod only. */
#ifndef CRYO_COMPAT_POWERPC_H
#define CRYO_COMPAT_POWERPC_H

#include <linux/stddef.h>
#include <linux/version.h>

/* The clocks were a part of the architecture's own data before v6.15. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#define CRYO_POWERPC_VDSO_DATA	0
#else
#include <asm/vdso_datapage.h>
#define CRYO_POWERPC_VDSO_DATA	offsetof(struct vdso_arch_data, data)
#endif

#endif
