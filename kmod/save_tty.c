// SPDX-License-Identifier: GPL-2.0-only
/* save_tty.c - is this the controlling terminal? */
#include <linux/fs.h>
#include <linux/sched/signal.h>
#include <linux/tty.h>

#include "cryo.h"

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
