/* SPDX-License-Identifier: GPL-2.0-only */
/* log.h - text for the caller of a request */
#ifndef CRYO_LOG_H
#define CRYO_LOG_H

#include <linux/compiler.h>
#include <linux/mutex.h>
#include <linux/types.h>

#define CRYO_LOG_MAX	(256 * 1024)	/* bytes; what comes after is counted, not kept */

struct cryo_log {
	struct mutex lock;	/* protects all below */
	char *text;
	size_t len;
	size_t size;
	unsigned int lost;	/* lines that did not fit, or for which there was no memory */
};

void cryo_log_init(struct cryo_log *log);
void cryo_log_free(struct cryo_log *log);
void cryo_log_end(struct cryo_log *log);
__printf(2, 3) void cryo_log(struct cryo_log *log, const char *fmt, ...);
ssize_t cryo_log_read(struct cryo_log *log, char __user *buf, size_t count, loff_t *pos);

#endif /* CRYO_LOG_H */
