// SPDX-License-Identifier: GPL-2.0-only
/* signalfd.c - signalfd(2): a mask; the signals themselves stay pending */
#include <linux/err.h>
#include <linux/mm.h>

#include <cryo/format.h>

#include "capture/capture.h"
#include "paths/fdinfo.h"
#include "save/files.h"

bool cryo_is_signalfd(struct file *file)
{
	return cryo_is_anon_file(file, "[signalfd]");
}

int cryo_save_signalfd(struct cryo_capture *c, struct cryo_object *o)
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
