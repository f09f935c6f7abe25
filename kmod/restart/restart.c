// SPDX-License-Identifier: GPL-2.0-only
/*
 * restart.c - the handle of a restart
 *
 * The threads of the processes that user space has rebuilt join a group and park on their way to
 * user mode. When all are there, the coordinator, which is another process, gives them their
 * registers: a task cannot set its own. Then all go on, or, when anything fails, all are killed.
 *
 * Everything is done to the caller or to tasks that joined by themselves; who may do what, and
 * when, says state.c.
 */
#include <linux/anon_inodes.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/slab.h>

#include <cryo/ioctl.h>

#include "lib/args.h"
#include "lib/in_use.h"
#include "lib/log.h"
#include "lib/point.h"
#include "restart/calls.h"
#include "restart/restart.h"

static void group_free(struct kref *ref)
{
	struct cryo_rst_group *g = container_of(ref, struct cryo_rst_group, ref);

	put_pid(g->coordinator);
	put_cred(g->creds);
	cryo_map_files_put(&g->map_files);
	cryo_rst_free_filters(g);
	cryo_log_free(&g->log);
	kfree(g);
	cryo_use_end(CRYO_USE_RESTART);
}

void cryo_rst_put(struct cryo_rst_group *g)
{
	kref_put(&g->ref, group_free);
}

static long handle_call(struct cryo_rst_group *g, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case CRYO_RST_RESUME:
		return cryo_rst_resume(g, (void __user *)arg);
	case CRYO_RST_COMMIT:
		return cryo_rst_commit(g, (void __user *)arg);
	case CRYO_RST_STATUS:
		return cryo_rst_state_of(g) == CRYO_RST_GO;
	case CRYO_RST_EPOLL_DISARM:
		return cryo_restart_epoll_disarm((void __user *)arg);
	case CRYO_RST_PID_CURSOR:
		return cryo_restart_pid_cursor(g->coordinator, (void __user *)arg);
	case CRYO_RST_OUTER_PID:
		return cryo_restart_outer_pid(g->coordinator, (void __user *)arg);
	case CRYO_RST_EXIT_SIGNAL:
		return cryo_restart_signal(&(struct cryo_restarter){ g->coordinator, g->creds },
					   (void __user *)arg);
	case CRYO_RST_PEER_PID:
		return cryo_restart_peer_pid(&(struct cryo_restarter){ g->coordinator, g->creds },
					     (void __user *)arg);
	case CRYO_RST_DATAGRAM:
		return cryo_restart_datagram((void __user *)arg);
	case CRYO_RST_INOTIFY_EVENT:
		return cryo_restart_inotify_event(g->creds, (void __user *)arg);
	case CRYO_RST_PORT:
		return cryo_restart_port((void __user *)arg);
	case CRYO_RST_TIMER:
		return cryo_restart_timer((void __user *)arg);
	case CRYO_RST_URING:
		return cryo_restart_uring((void __user *)arg);
	case CRYO_RST_SHADOW_STACK:
		return cryo_restart_shadow_stack(g, (void __user *)arg);
	case CRYO_RST_MAP_FILE:
		return cryo_restart_map_file(&g->map_files, (void __user *)arg);
	case CRYO_RST_MAP:
		return cryo_restart_map(&g->map_files, (void __user *)arg);
	}
	return -ENOTTY;
}

static long group_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct cryo_rst_group *g = file->private_data;
	long ret = cryo_rst_begin_call(g, cmd);

	if (ret)
		return ret;
	ret = handle_call(g, cmd, arg);
	cryo_rst_end_call(g, cmd);
	return ret;
}

static int group_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct cryo_rst_group *g = file->private_data;
	int err = cryo_rst_begin_call(g, CRYO_RST_URING);

	if (err)
		return err;
	err = cryo_restart_uring_mmap(vma);
	cryo_rst_end_call(g, CRYO_RST_URING);
	return err;
}

static ssize_t group_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	struct cryo_rst_group *g = file->private_data;

	return cryo_log_read(&g->log, buf, count, pos);
}

/*
 * Each close(2), and the exit of each process that has the handle.  A fork() that fails
 * in the coordinator closes the copy of its table, which is another one.
 */
static int group_flush(struct file *file, fl_owner_t id)
{
	struct cryo_rst_group *g = file->private_data;

	if (id == g->table)
		cryo_rst_enter(g, CRYO_RST_ABORTED);
	return 0;
}

static int group_release(struct inode *inode, struct file *file)
{
	struct cryo_rst_group *g = file->private_data;

	cryo_rst_enter(g, CRYO_RST_ABORTED);
	cryo_rst_put(g);
	return 0;
}

const struct file_operations cryo_rst_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = group_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.read = group_read,
	.mmap = group_mmap,
	.flush = group_flush,
	.release = group_release,
	.llseek = noop_llseek,
};

static struct cryo_rst_group *group_alloc(unsigned int threads, unsigned int processes)
{
	struct cryo_rst_group *g = kzalloc(sizeof(*g), GFP_KERNEL_ACCOUNT);

	if (!g)
		return NULL;
	cryo_use_begin(CRYO_USE_RESTART);
	kref_init(&g->ref);
	mutex_init(&g->lock);
	spin_lock_init(&g->state_lock);
	INIT_LIST_HEAD(&g->members);
	init_waitqueue_head(&g->coordinator_wait);
	init_waitqueue_head(&g->go_wait);
	xa_init_flags(&g->filters, XA_FLAGS_ACCOUNT);
	cryo_log_init(&g->log);
	g->threads = threads;
	g->processes = processes;
	g->coordinator = get_pid(task_tgid(current));
	g->creds = get_current_cred();
	g->table = current->files;
	return g;
}

long cryo_restart_create(void __user *arg)
{
	struct cryo_restart args;
	struct cryo_rst_group *g;
	int fd, err;

	err = cryo_copy_args(&args, sizeof(args), offsetofend(struct cryo_restart, threads), arg);
	if (err)
		return err;
	if (!args.processes)
		args.processes = 1;
	if (args.flags || !args.threads || args.threads > CRYO_MAX_THREADS ||
	    args.processes > args.threads)
		return -EINVAL;
	g = group_alloc(args.threads, args.processes);
	if (!g)
		return -ENOMEM;
	fd = anon_inode_getfd("[cryo-restart]", &cryo_rst_fops, g, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		cryo_rst_put(g);
	cryo_point("handle");
	return fd;
}
