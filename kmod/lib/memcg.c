// SPDX-License-Identifier: GPL-2.0-only
/* memcg.c - what a memory control group has left */
#include <linux/limits.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/page_counter.h>

#include "lib/memcg.h"

u64 cryo_memcg_margin(struct mem_cgroup *memcg, bool high)
{
	u64 margin = U64_MAX;
#ifdef CONFIG_MEMCG
	unsigned long used, max;

	for (; memcg; memcg = parent_mem_cgroup(memcg)) {
		used = page_counter_read(&memcg->memory);
		max = READ_ONCE(memcg->memory.max);
		if (high)
			max = min(max, READ_ONCE(memcg->memory.high));
		margin = min_t(u64, margin, max > used ? max - used : 0);
	}
#endif
	return margin;
}

u64 cryo_memcg_limit(struct mem_cgroup *memcg)
{
	u64 limit = U64_MAX;
#ifdef CONFIG_MEMCG
	for (; memcg; memcg = parent_mem_cgroup(memcg))
		limit = min_t(u64, limit, READ_ONCE(memcg->memory.max));
#endif
	return limit;
}
