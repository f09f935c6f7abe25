/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * linux/ns_common.h: the type of a namespace, which was one of its operations before
 * ns_common_type() came (v6.18).
 */
#ifndef CRYO_COMPAT_NS_COMMON_H
#define CRYO_COMPAT_NS_COMMON_H

#include <linux/ns_common.h>
#include <linux/proc_ns.h>

/* CLONE_NEW* */
static inline u32 cryo_ns_type(const struct ns_common *ns)
{
#ifdef ns_common_type
	return ns->ns_type;
#else
	return ns->ops->type;
#endif
}

#endif /* CRYO_COMPAT_NS_COMMON_H */
