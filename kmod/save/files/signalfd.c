// SPDX-License-Identifier: GPL-2.0-only
/* signalfd.c - signalfd(2): a mask; the signals themselves stay pending */
#include <linux/err.h>
#include <linux/mm.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "paths/fdinfo.h"
#include "resources.h"
#include "save/files.h"

static bool is_signalfd(struct file *file)
{
	return cryo_is_anon_file(file, "[signalfd]");
}

static int save_signalfd(struct cryo_capture *c, struct cryo_object *o)
{
	struct cryo_signalfd out = {};
	char *text = cryo_fdinfo(o->file);
	unsigned long long mask;
	int err = 0;

	if (IS_ERR(text))
		return PTR_ERR(text);
	if (sscanf(text, "sigmask: %llx", &mask) != 1)
		err = -EPROTO;
	kvfree(text);
	out.mask = mask;
	return err ?: cryo_stream_section(&c->stream, CRYO_SEC_SIGNALFD, o->id, sizeof(out), &out,
					  sizeof(out));
}

const struct cryo_file_kind cryo_file_kind_signalfd = {
	.kind = CRYO_FILE_SIGNALFD,
	.is = is_signalfd,
	.save = save_signalfd,
};
