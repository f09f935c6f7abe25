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

/**
 * cryo_buf_free() - free the contents of a buffer
 * @buf: the buffer; all zero afterwards, its error included, and may be used again
 */
void cryo_buf_free(struct cryo_buf *buf);

/**
 * cryo_buf_add() - append zeroed bytes
 * @buf: the buffer; all zero is an empty one
 * @len: how many bytes; 0 is fine
 *
 * The first error is kept in @buf->error, and all later calls fail: -EFBIG: more than CRYO_BUF_MAX
 * in all; -ENOMEM. What it has is charged to the caller.
 *
 * Context: May sleep.
 *
 * Return: where they are, valid until the next call for @buf; NULL: @buf->error is set.
 */
void *cryo_buf_add(struct cryo_buf *buf, size_t len);

/**
 * cryo_buf_put() - append a copy of some bytes
 * @buf: the buffer
 * @data: the bytes
 * @len: how many
 *
 * Context: May sleep. @buf->error is set as by cryo_buf_add().
 */
void cryo_buf_put(struct cryo_buf *buf, const void *data, size_t len);

#endif /* CRYO_BUF_H */
