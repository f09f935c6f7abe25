/* SPDX-License-Identifier: GPL-2.0-only */
/* buf.h - growing byte buffer; the first error sticks */
#ifndef CRYO_BUF_H
#define CRYO_BUF_H

#include <linux/types.h>

#define CRYO_BUF_MAX	(256UL * 1024 * 1024)
#define CRYO_META_MAX	SZ_512M		/* of all that is described, in memory at the same time */

struct cryo_buf {
	u8 *data;
	size_t len;
	size_t size;
	int error;
};

void cryo_buf_free(struct cryo_buf *buf);
void *cryo_buf_add(struct cryo_buf *buf, size_t len);
void cryo_buf_put(struct cryo_buf *buf, const void *data, size_t len);

#endif /* CRYO_BUF_H */
