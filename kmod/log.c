// SPDX-License-Identifier: GPL-2.0-only
/*
 * log.c - the text that a request returns to its caller
 *
 * Errors reach the person who asked, not the kernel log: one line each.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "cryo.h"

void cryo_log_init(struct cryo_log *log)
{
	mutex_init(&log->lock);
}

void cryo_log_free(struct cryo_log *log)
{
	kvfree(log->text);
	log->text = NULL;
}

static bool log_reserve(struct cryo_log *log, size_t more)
{
	size_t size = max_t(size_t, 4096, log->size);
	char *text;

	if (log->len + more > CRYO_LOG_MAX)
		return false;
	while (size < log->len + more)
		size *= 2;
	if (size == log->size)
		return true;
	text = kvmalloc(size, GFP_KERNEL_ACCOUNT);
	if (!text)
		return false;
	if (log->len)
		memcpy(text, log->text, log->len);
	kvfree(log->text);
	log->text = text;
	log->size = size;
	return true;
}

/* Add one line; @fmt has no newline at its end. May sleep. */
void cryo_log(struct cryo_log *log, const char *fmt, ...)
{
	va_list args;
	char *line;
	char *c;

	va_start(args, fmt);
	line = kvasprintf(GFP_KERNEL_ACCOUNT, fmt, args);
	va_end(args);

	mutex_lock(&log->lock);
	if (line && log_reserve(log, strlen(line) + 1)) {
		/* Names come from users: keep a line one line. */
		for (c = line; *c; c++)
			if (*c == '\n')
				*c = '?';
		memcpy(log->text + log->len, line, c - line);
		log->len += c - line;
		log->text[log->len++] = '\n';
	} else {
		log->lost++;
	}
	mutex_unlock(&log->lock);
	kfree(line);
}

/*
 * Lines are added with mmap_lock held, and copying to user memory may take it: copy
 * in two steps, the second without the log's lock.
 */
ssize_t cryo_log_read(struct cryo_log *log, char __user *buf, size_t count, loff_t *pos)
{
	ssize_t ret = 0;
	char *part;

	count = min_t(size_t, count, PAGE_SIZE);
	part = kmalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT);
	if (!part)
		return -ENOMEM;
	if (mutex_lock_killable(&log->lock)) {
		kfree(part);
		return -EINTR;
	}
	if (*pos >= 0 && *pos < log->len) {
		ret = min_t(size_t, count, log->len - *pos);
		memcpy(part, log->text + *pos, ret);
	}
	mutex_unlock(&log->lock);
	if (copy_to_user(buf, part, ret))
		ret = -EFAULT;
	else
		*pos += ret;
	kfree(part);
	return ret;
}
