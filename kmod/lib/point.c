// SPDX-License-Identifier: GPL-2.0-only
/*
 * point.c - places to die: where a test stops a task, to kill it or others meanwhile
 *
 * Only in a module built with CRYO_POINTS=yes; others have none of this. The name of a point
 * written to the parameter stop_point stops the next task that comes to a cryo_point() of that
 * name, and no further one. It sleeps, killable and freezable, until it is killed or stop_point is
 * written again. stop_pid says which thread is there, 0 when nobody is.
 *
 * Parameters few_... are bounds that tests come to in a moment, instead of those that the code has.
 */
#ifdef CONFIG_CRYO_POINTS
#include <linux/moduleparam.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "lib/point.h"

#define POINT_NAME_MAX	32

static DEFINE_SPINLOCK(points_lock);
static DECLARE_WAIT_QUEUE_HEAD(points_wait);

/* Under points_lock. */
static char stop_point[POINT_NAME_MAX];	/* empty: nobody is to stop */
static unsigned int stop_serial;	/* of what was written last */
static int stop_pid;

static int set_stop_point(const char *text, const struct kernel_param *kp)
{
	size_t length = strcspn(text, "\n");

	if (length >= sizeof(stop_point))
		return -EINVAL;
	spin_lock(&points_lock);
	memcpy(stop_point, text, length);
	stop_point[length] = 0;
	stop_pid = 0;
	WRITE_ONCE(stop_serial, stop_serial + 1);
	spin_unlock(&points_lock);
	wake_up_all(&points_wait);
	return 0;
}

static int get_stop_point(char *page, const struct kernel_param *kp)
{
	int n;

	spin_lock(&points_lock);
	n = scnprintf(page, PAGE_SIZE, "%s\n", stop_point);
	spin_unlock(&points_lock);
	return n;
}

static const struct kernel_param_ops stop_point_ops = {
	.set = set_stop_point,
	.get = get_stop_point,
};

module_param_cb(stop_point, &stop_point_ops, NULL, 0600);
MODULE_PARM_DESC(stop_point, "name of the point at which the next task stops, for tests");
module_param(stop_pid, int, 0400);
MODULE_PARM_DESC(stop_pid, "thread that is stopped there, 0: none");

unsigned int cryo_few_freeze_ms, cryo_few_tracks, cryo_few_places, cryo_few_table_bytes;
bool cryo_wrong_vma_changes;

module_param_named(few_freeze_ms, cryo_few_freeze_ms, uint, 0600);
MODULE_PARM_DESC(few_freeze_ms, "time to freeze of who has no CAP_SYS_ADMIN, for tests; 0: as ever");
module_param_named(few_tracks, cryo_few_tracks, uint, 0600);
MODULE_PARM_DESC(few_tracks, "processes of which account is kept for a user, for tests; 0: as ever");
module_param_named(few_places, cryo_few_places, uint, 0600);
MODULE_PARM_DESC(few_places, "mapped areas that are known of a user, for tests; 0: as ever");
module_param_named(few_table_bytes, cryo_few_table_bytes, uint, 0600);
MODULE_PARM_DESC(few_table_bytes, "tables of mapped areas of an address space, for tests; 0: as ever");
module_param_named(wrong_vma_changes, cryo_wrong_vma_changes, bool, 0600);
MODULE_PARM_DESC(wrong_vma_changes, "a kernel that tells in another way who changes an area, for tests");

void cryo_point(const char *name)
{
	unsigned int serial;
	bool stop;

	/* Nothing ends the wait of a task that has taken its SIGKILL. */
	if (current->flags & (PF_EXITING | PF_KTHREAD))
		return;
	spin_lock(&points_lock);
	serial = stop_serial;
	stop = !strcmp(stop_point, name);
	if (stop) {
		stop_point[0] = 0;
		stop_pid = task_pid_nr(current);
	}
	spin_unlock(&points_lock);
	if (!stop)
		return;
	wait_event_state(points_wait, READ_ONCE(stop_serial) != serial,
			 (TASK_KILLABLE | TASK_FREEZABLE));
	spin_lock(&points_lock);
	if (stop_pid == task_pid_nr(current))
		stop_pid = 0;
	spin_unlock(&points_lock);
}
#endif
