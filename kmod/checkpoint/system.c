// SPDX-License-Identifier: GPL-2.0-only
/* system.c - where and when the context was made */
#include <linux/string.h>
#include <linux/ktime.h>
#include <linux/timekeeping.h>
#include <linux/time_namespace.h>
#include <linux/utsname.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "checkpoint/checkpoint.h"
#include "device.h"

/* As the requester sees it. */
static u64 monotonic_ns(void)
{
	struct timespec64 now;

	ktime_get_ts64(&now);
	timens_add_monotonic(&now);
	return timespec64_to_ns(&now);
}

int cryo_save_system(struct cryo_capture *c)
{
	const struct new_utsname *u = utsname();
	struct cryo_system s = {
		.realtime_ns = ktime_get_real_ns(),
		.monotonic_ns = monotonic_ns(),
		.boottime_ns = timens_add_boottime_ns(ktime_get_boottime_ns()),
		.writer = CRYO_RELEASE,
	};
	struct cryo_proc *proc;
	struct cryo_parked *p;

	cryo_for_each_proc(proc, c->req) {
		s.processes += !proc->gone;
		/* Has exited, and is in the context all the same. */
		s.threads += proc->mm && !thread_group_leader(proc->task);
	}
	list_for_each_entry(p, &c->req->parked, node)
		s.threads += p->counted;
	strscpy((char *)s.sysname, u->sysname, sizeof(s.sysname));
	strscpy((char *)s.release, u->release, sizeof(s.release));
	strscpy((char *)s.version, u->version, sizeof(s.version));
	strscpy((char *)s.machine, u->machine, sizeof(s.machine));
	strscpy((char *)s.nodename, u->nodename, sizeof(s.nodename));
	return cryo_stream_section(&c->stream, CRYO_SEC_SYSTEM, 0, sizeof(s), &s, sizeof(s));
}
