// SPDX-License-Identifier: GPL-2.0-only
/* timerfd.c - timerfd_create(2) */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/time64.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/timerfd.h"
#include "paths/fdinfo.h"
#include "resources.h"
#include "save/files.h"

static bool is_timerfd(struct file *file)
{
	return cryo_is_anon_file(file, "[timerfd]");
}

static int parse_timerfd(const char *text, struct cryo_timerfd *out)
{
	unsigned long long ticks, sec, nsec;
	const char *interval = strstr(text, "it_interval:");

	if (sscanf(text, "clockid: %d ticks: %llu settime flags: 0%o", &out->clockid, &ticks,
		   &out->settime_flags) != 3)
		return -EPROTO;
	if (!interval || sscanf(interval, "it_interval: (%llu, %llu)", &sec, &nsec) != 2)
		return -EPROTO;
	out->ticks = ticks;
	out->interval_ns = sec * NSEC_PER_SEC + nsec;
	return 0;
}

static int read_timerfd(struct file *file, struct cryo_timerfd *out)
{
	char *text = cryo_fdinfo(file);
	int err;

	if (IS_ERR(text))
		return PTR_ERR(text);
	err = parse_timerfd(text, out);
	kvfree(text);
	if (err)
		return err;
	out->flags = cryo_timerfd_active(file, out->clockid) ? CRYO_TIMERFD_ARMED : 0;
	out->remaining_ns = cryo_cut_remaining(cryo_timerfd_remaining(file, out->clockid));
	return 0;
}

static int save_timerfd(struct cryo_capture *c, struct cryo_object *o)
{
	struct cryo_timerfd first, out = {};
	int err, tries = 10;

	/* It may expire between the two looks: until they agree. */
	do {
		first = out;
		err = read_timerfd(o->file, &out);
	} while (!err && (first.ticks != out.ticks || first.flags != out.flags) && --tries);
	return err ?: cryo_stream_section(&c->stream, CRYO_SEC_TIMERFD, o->id, sizeof(out), &out,
					  sizeof(out));
}

const struct cryo_file_kind cryo_file_kind_timerfd = {
	.kind = CRYO_FILE_TIMERFD,
	.needs = CRYO_NEEDS_LAYOUT(TIMERFD),
	.is = is_timerfd,
	.save = save_timerfd,
};
