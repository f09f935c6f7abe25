// SPDX-License-Identifier: GPL-2.0-only
/*
 * log.c - the text that a request returns to its caller
 *
 * Errors reach the person who asked, not the kernel log: one line each.
 */
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "lib/log.h"

#define LOST_LINE_MAX	48	/* bytes, with its end */

void cryo_log_init(struct cryo_log *log)
{
	mutex_init(&log->lock);
}

void cryo_log_free(struct cryo_log *log)
{
	mutex_lock(&log->lock);
	kvfree(log->text);
	log->text = NULL;
	log->size = 0;
	log->len = 0;
	mutex_unlock(&log->lock);
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

/*
 * Bytes of the character of UTF-8 at @s, NUL-terminated, or 0: that is none, or no shortest form of
 * it. @c: which it is.
 */
static unsigned int utf8_length(const unsigned char *s, u32 *c)
{
	static const u32 least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 :
			 *s < 0xf5 ? 4 : 0;
	unsigned int i;

	*c = n < 2 ? *s : *s & (0x7f >> n);
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (s[i] & 0x3f);
	}
	if (n > 1 && (*c < least[n] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000)))
		return 0;
	return n;
}

/* C0, DEL and C1, which terminals take for commands. */
static bool is_control(u32 c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

/*
 * Names come from users: a line is to stay one line, and to be text. Each byte that is not gets a
 * question mark.
 */
static void make_printable(char *line)
{
	unsigned char *s = (unsigned char *)line;
	unsigned int n, i;
	u32 c;

	while (*s) {
		n = utf8_length(s, &c);
		if (n && !is_control(c)) {
			s += n;
			continue;
		}
		for (i = 0; i < max(n, 1U); i++)
			*s++ = '?';
	}
}

static void append_line(struct cryo_log *log, const char *line, size_t len)
{
	lockdep_assert_held(&log->lock);
	memcpy(log->text + log->len, line, len);
	log->len += len;
	log->text[log->len++] = '\n';
}

void cryo_log(struct cryo_log *log, const char *fmt, ...)
{
	va_list args;
	size_t len;
	char *line;

	va_start(args, fmt);
	line = kvasprintf(GFP_KERNEL_ACCOUNT, fmt, args);
	va_end(args);
	if (line)
		make_printable(line);
	len = line ? strlen(line) : 0;

	mutex_lock(&log->lock);
	/* Room for what cryo_log_end() says. */
	if (line && log_reserve(log, len + 1 + LOST_LINE_MAX))
		append_line(log, line, len);
	else
		log->lost++;
	mutex_unlock(&log->lock);
	kfree(line);
}

void cryo_log_end(struct cryo_log *log)
{
	char line[LOST_LINE_MAX];
	int len;

	mutex_lock(&log->lock);
	if (log->lost && (log->size || log_reserve(log, LOST_LINE_MAX))) {
		len = scnprintf(line, sizeof(line), "%u more lines did not fit here", log->lost);
		append_line(log, line, len);
		log->lost = 0;
	}
	mutex_unlock(&log->lock);
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
