/* SPDX-License-Identifier: GPL-2.0-only */
/* memcg.h - what a memory control group has left */
#ifndef CRYO_MEMCG_H
#define CRYO_MEMCG_H

#include <linux/types.h>

struct mem_cgroup;

/**
 * cryo_memcg_margin() - pages that a memory control group may still be charged
 * @memcg: the group; NULL: none
 * @high: up to memory.high as well, and not only up to memory.max
 *
 * Of it and all groups above it, the one with the least left counts. By the counters that its own
 * charges go by, which change meanwhile.
 *
 * Context: The caller has a reference to @memcg, or holds rcu_read_lock().
 *
 * Return: pages; U64_MAX: there is no limit.
 */
u64 cryo_memcg_margin(struct mem_cgroup *memcg, bool high);

/**
 * cryo_memcg_limit() - pages that a memory control group may have in all
 * @memcg: the group; NULL: none
 *
 * The least memory.max of it and all groups above it.
 *
 * Context: As of cryo_memcg_margin().
 *
 * Return: pages; U64_MAX: there is no limit.
 */
u64 cryo_memcg_limit(struct mem_cgroup *memcg);

#endif /* CRYO_MEMCG_H */
