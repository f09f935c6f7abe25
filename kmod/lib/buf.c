// SPDX-License-Identifier: GPL-2.0-only
/*
 * buf.c - a byte buffer that grows
 *
 * The first error sticks in @error, so that callers can build a section with
 * many small steps and look once.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "lib/buf.h"

void cryo_buf_free(struct cryo_buf *buf)
{
	kvfree(buf->data);
	memset(buf, 0, sizeof(*buf));
}

static int buf_grow(struct cryo_buf *buf, size_t need)
{
	size_t size = max_t(size_t, 256, buf->size);
	u8 *data;

	if (need > CRYO_BUF_MAX)
		return -EFBIG;
	while (size < need)
		size *= 2;
	data = kvmalloc(size, GFP_KERNEL_ACCOUNT);
	if (!data)
		return -ENOMEM;
	if (buf->len)
		memcpy(data, buf->data, buf->len);
	kvfree(buf->data);
	buf->data = data;
	buf->size = size;
	return 0;
}

void *cryo_buf_add(struct cryo_buf *buf, size_t len)
{
	size_t need;
	void *place;

	if (buf->error)
		return NULL;
	if (check_add_overflow(buf->len, len, &need))
		buf->error = -EFBIG;
	else if (need > buf->size)
		buf->error = buf_grow(buf, need);
	if (buf->error)
		return NULL;
	place = buf->data + buf->len;
	memset(place, 0, len);
	buf->len = need;
	return place;
}

void cryo_buf_put(struct cryo_buf *buf, const void *data, size_t len)
{
	void *place = cryo_buf_add(buf, len);

	if (place)
		memcpy(place, data, len);
}
