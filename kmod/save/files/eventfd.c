// SPDX-License-Identifier: GPL-2.0-only
/* eventfd.c - eventfd(2) */
#include <linux/dcache.h>
#include <linux/eventfd.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/string.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "compat/eventfd.h"
#include "paths/fdinfo.h"
#include "resources.h"
#include "save/files.h"

static bool is_eventfd(struct file *file)
{
	struct eventfd_ctx *ctx = eventfd_ctx_fileget(file);

	if (IS_ERR(ctx))
		return false;
	eventfd_ctx_put(ctx);
	return true;
}

static int save_eventfd(struct cryo_capture *c, struct cryo_object *o)
{
	struct cryo_eventfd out = {};
	char *text = cryo_fdinfo(o->file);
	unsigned long long count;
	unsigned int semaphore = 0;
	const char *line;
	int err = 0;

	if (IS_ERR(text))
		return PTR_ERR(text);
	if (sscanf(text, "eventfd-count: %llx", &count) != 1)
		err = -EPROTO;
	out.count = count;
	line = strstr(text, "eventfd-semaphore:");
	if (line && sscanf(line, "eventfd-semaphore: %u", &semaphore) == 1)
		out.semaphore = semaphore;
	else
		out.semaphore = cryo_eventfd_semaphore(o->file);
	kvfree(text);
	return err ?: cryo_stream_section(&c->stream, CRYO_SEC_EVENTFD, o->id, sizeof(out), &out,
					  sizeof(out));
}

const struct cryo_file_kind cryo_file_kind_eventfd = {
	.kind = CRYO_FILE_EVENTFD,
	.needs = CRYO_NEEDS_LAYOUT(EVENTFD),
	.is = is_eventfd,
	.save = save_eventfd,
};
