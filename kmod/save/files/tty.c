// SPDX-License-Identifier: GPL-2.0-only
/*
 * tty.c - the controlling terminal that comes from outside: is this file one of it, and how it is
 * set
 */
#include <linux/fs.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/tty.h>

#include <cryo/format.h>

#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "lib/sighand.h"
#include "resources.h"
#include "save/files.h"

/* Is @file an open file of the controlling terminal of @task's session? */
bool cryo_is_ctty(struct task_struct *task, struct file *file)
{
	struct sighand_struct *sighand = cryo_lock_sighand(task);
	struct tty_struct *tty;
	bool is = false;

	if (!sighand)
		return false;
	tty = task->signal->tty;
	if (tty)
		is = file_inode(file)->i_rdev == tty_devnum(tty);
	cryo_unlock_sighand(sighand);
	return is;
}

/* With a reference; NULL: @task has none. */
static struct tty_struct *ctty_of(struct task_struct *task)
{
	struct sighand_struct *sighand = cryo_lock_sighand(task);
	struct tty_struct *tty;

	if (!sighand)
		return NULL;
	tty = tty_kref_get(task->signal->tty);
	cryo_unlock_sighand(sighand);
	return tty;
}

/*
 * Others read from it, too, perhaps into memory that does not come, and want to change its modes
 * meanwhile.
 */
static int describe_terminal(struct cryo_capture *c, struct tty_struct *tty,
			     struct cryo_terminal *out)
{
	const struct ktermios *termios = &tty->termios;
	int err = cryo_busy_read_lock(c, NULL, &tty->termios_rwsem, "terminal");

	if (err)
		return err;
	out->iflag = termios->c_iflag;
	out->oflag = termios->c_oflag;
	out->cflag = termios->c_cflag;
	out->lflag = termios->c_lflag;
	out->ispeed = termios->c_ispeed;
	out->ospeed = termios->c_ospeed;
	BUILD_BUG_ON(sizeof(termios->c_cc) > sizeof(out->cc));
	memcpy(out->cc, termios->c_cc, sizeof(termios->c_cc));
	up_read(&tty->termios_rwsem);
	spin_lock_irq(&tty->ctrl.lock);
	out->pgid = pid_vnr(tty->ctrl.pgrp);
	spin_unlock_irq(&tty->ctrl.lock);
	out->rows = tty->winsize.ws_row;
	out->columns = tty->winsize.ws_col;
	out->xpixels = tty->winsize.ws_xpixel;
	out->ypixels = tty->winsize.ws_ypixel;
	return 0;
}

/* Of the first process that has one: after a restart there is one terminal, that of cr_restart. */
static int save_terminal(struct cryo_capture *c, struct cryo_proc *p)
{
	struct cryo_terminal out = {};
	struct tty_struct *tty = c->terminal_saved ? NULL : ctty_of(p->task);
	int err = 0;

	if (!tty)
		return 0;
	if (!cryo_tty_is_saved(c, tty)) {
		c->terminal_saved = true;
		err = describe_terminal(c, tty, &out);
	}
	tty_kref_put(tty);
	if (err == -EBUSY) {
		cryo_warn(c, p, "modes of its terminal are not saved: another process is in a system call on it that does not return");
		return 0;
	}
	if (err)
		return err;
	return c->terminal_saved ? cryo_stream_section(&c->stream, CRYO_SEC_TERMINAL, p->pid,
						       sizeof(out), &out, sizeof(out)) : 0;
}

const struct cryo_resource cryo_resource_terminal = {
	.save = save_terminal,
};
