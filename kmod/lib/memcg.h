/* SPDX-License-Identifier: GPL-2.0-only */
/* memcg.h - what a memory control group has left */
#ifndef CRYO_MEMCG_H
#define CRYO_MEMCG_H

#include <linux/types.h>

struct mem_cgroup;

/*
 * Pages that @memcg (NULL: none) and the groups above it may still take before the first of them is
 * at its limit; with @high, before it is at memory.high. U64_MAX: as many as there are. By the
 * counters that the group's own charges go by; they go on changing. The caller has a reference, or
 * holds rcu_read_lock().
 */
u64 cryo_memcg_margin(struct mem_cgroup *memcg, bool high);

/* Pages that @memcg and the groups above it may have; the rest as above. */
u64 cryo_memcg_limit(struct mem_cgroup *memcg);

#endif /* CRYO_MEMCG_H */
