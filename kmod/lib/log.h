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

/**
 * cryo_log_init() - make a log ready for use
 * @log: all zero
 */
void cryo_log_init(struct cryo_log *log);

/**
 * cryo_log_free() - free the text of a log
 * @log: the log; may be added to again, and is empty then
 *
 * Lines that have been lost stay counted.
 */
void cryo_log_free(struct cryo_log *log);

/**
 * cryo_log_end() - add a last line if lines have been lost
 * @log: the log
 *
 * Context: May sleep.
 */
void cryo_log_end(struct cryo_log *log);

/**
 * cryo_log() - add a line
 * @log: the log
 * @fmt: the line, without a newline at its end
 * @...: as for printk()
 *
 * Control characters, and bytes that are no UTF-8, become question marks. A line that does not fit
 * into CRYO_LOG_MAX bytes, or for which there is no memory, is counted instead.
 *
 * Context: May sleep. Callers may hold mmap_lock; the log's own lock nests in it.
 */
__printf(2, 3) void cryo_log(struct cryo_log *log, const char *fmt, ...);

/**
 * cryo_log_read() - read(2) of a handle: copy text of a log to user memory
 * @log: the log
 * @buf: address in user memory
 * @count: bytes that fit there; a page at most is copied by one call
 * @pos: where in the text to begin; is advanced by what is copied
 *
 * Context: In the caller. Sleeps for the log's lock, killably; no lock is held while user memory is
 * written to.
 *
 * Return: how many bytes; 0: @pos is at the end; -ENOMEM, -EINTR (killed) or -EFAULT.
 */
ssize_t cryo_log_read(struct cryo_log *log, char __user *buf, size_t count, loff_t *pos);

#endif /* CRYO_LOG_H */
