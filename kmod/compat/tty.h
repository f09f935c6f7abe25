/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * drivers/tty: what an open terminal holds.  struct tty_file_private and the flip buffers are in
 * public headers; the line discipline keeps its own data to itself.
 */
#ifndef CRYO_COMPAT_TTY_H
#define CRYO_COMPAT_TTY_H

#include <linux/bitmap.h>
#include <linux/mutex.h>
#include <linux/tty.h>
#include <linux/tty_buffer.h>
#include <linux/tty_driver.h>
#include <linux/tty_flip.h>
#include <linux/tty_ldisc.h>

/* Of an open file whose device is a terminal. */
static inline struct tty_struct *cryo_file_tty(struct file *file)
{
	const struct tty_file_private *private = file->private_data;

	return private ? private->tty : NULL;
}

/* In n_tty.c alone on newer kernels. */
#ifndef N_TTY_BUF_SIZE
#define N_TTY_BUF_SIZE 4096
#endif

/* struct n_tty_data of drivers/tty/n_tty.c, laid out like this since v6.0 6bb6fa6908eb. */
struct cryo_n_tty {
	size_t read_head;
	size_t commit_head;
	size_t canon_head;
	size_t echo_head;
	size_t echo_commit;
	size_t echo_mark;
	DECLARE_BITMAP(char_map, 256);
	unsigned long overrun_time;
	unsigned int num_overrun;
	bool no_room;
	unsigned char lnext:1, erasing:1, raw:1, real_raw:1, icanon:1;
	unsigned char push:1;
	u8 read_buf[N_TTY_BUF_SIZE];
	DECLARE_BITMAP(read_flags, N_TTY_BUF_SIZE);
	u8 echo_buf[N_TTY_BUF_SIZE];
	size_t read_tail;
	size_t line_start;
	size_t lookahead_count;
	unsigned int column;
	unsigned int canon_column;
	size_t echo_tail;
	struct mutex atomic_read_lock;
	struct mutex output_lock;
};

#endif
