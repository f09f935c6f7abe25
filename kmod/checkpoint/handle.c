// SPDX-License-Identifier: GPL-2.0-only
/*
 * handle.c - a checkpoint request and its handle
 *
 * The work is done in the context of the task that calls CRYO_CKPT_RUN: its
 * limits, credentials and memory cgroup apply to what is written, and killing
 * it ends the request.
 */
#include <linux/anon_inodes.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/poll.h>
#include <linux/resume_user_mode.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <cryo/client.h>
#include <cryo/ioctl.h>

#include "checkpoint/checkpoint.h"
#include "client/client.h"
#include "cryo_arch.h"
#include "freeze/freeze.h"
#include "lib/args.h"
#include "lib/log.h"
#include "lib/point.h"
#include "lib/trace.h"
#include "memory/track.h"
#include "request/connections.h"
#include "request/request.h"
#include "request/scope.h"

static void set_worker(struct cryo_request *req, struct task_struct *worker)
{
	spin_lock_irq(&req->park_lock);
	req->worker = worker;
	spin_unlock_irq(&req->park_lock);
}

static int capture_frozen(struct cryo_request *req)
{
	unsigned long saved[CRYO_ARCH_SELF_WORDS];
	int err;

	if (!cryo_find_parked(req, current))
		return cryo_capture(req);
	/*
	 * In the context the requester has returned from RUN, and knows by the result where it is.
	 */
	cryo_arch_self_begin(saved, 1);
	err = cryo_capture(req);
	cryo_arch_self_end(saved);
	return err;
}

static int freeze_and_capture(struct cryo_request *req)
{
	int err;

	cryo_request_state(req, CRYO_STATE_FREEZING);
	err = cryo_freeze(req);
	if (err)
		return err;
	cryo_point("frozen");
	cryo_request_state(req, CRYO_STATE_CAPTURING);
	return capture_frozen(req);
}

static int notify_and_capture(struct cryo_request *req)
{
	int err;

	cryo_point("scope");
	cryo_request_state(req, CRYO_STATE_NOTIFYING);
	err = cryo_notify(req);
	if (err)
		return err;
	cryo_point("voted");
	return freeze_and_capture(req);
}

/* Everybody goes on, while the context is written from a snapshot. They stay claimed. */
void cryo_request_resume(struct cryo_request *req)
{
	req->resumed = true;
	cryo_connections_forget(req);
	cryo_thaw(req);
	cryo_notify_end(req, 0);
	cryo_point("went-on");
}

/* Gone: there is nobody left to tell, and the context is as good as before. */
static int signal_proc(struct cryo_proc *p, int signal)
{
	int err = kill_pid(p->tgid, signal, 0);

	return err == -ESRCH ? 0 : err;
}

/*
 * Not as long as callbacks have something to do, which may use them: who is killed at once closes
 * his as ever then.
 */
static void abort_connections(struct cryo_request *req, bool all)
{
	struct cryo_proc *p;

	if (!all)
		cryo_for_each_proc(p, req) {
			cond_resched();
			if (!p->omitted && cryo_notify_ends_later(p))
				return;
		}
	cryo_connections_abort(req);
}

/*
 * All are told, whatever some of them answer; those whose callbacks go on after the checkpoint when
 * these have ended, unless it is to come first.
 */
static int send_signals(struct cryo_request *req, bool last)
{
	bool all = last || req->args.announced_signal < 0;
	struct cryo_proc *p;
	int ret = 0, err;

	if (!req->signal)
		return 0;
	if (req->signal == SIGKILL)
		abort_connections(req, all);
	cryo_for_each_proc(p, req) {
		cond_resched();
		if (p->omitted || p->signalled || (!all && cryo_notify_ends_later(p)))
			continue;
		p->signalled = true;
		err = signal_proc(p, req->signal);
		if (err)
			cryo_log(&req->log, "pid %d (%s): cannot send signal %d: %pe",
				 p->pid, p->comm, req->signal, ERR_PTR(err));
		ret = err ?: ret;
	}
	return ret;
}

/* Have some still to get the signal, as their callbacks had to end before? */
static bool is_signal_due(struct cryo_request *req)
{
	struct cryo_proc *p;

	cryo_for_each_proc(p, req) {
		if (!p->omitted && !p->signalled)
			return true;
		cond_resched();
	}
	return false;
}

/*
 * SIGKILL and SIGSTOP are to leave nobody of the job running. Who has run until now may have made
 * others, and does so until he gets the signal, the more as those that he has made end by it: so
 * all come to rest once more, and who is new is found as at the checkpoint, if the caller may trace
 * him; but whom one that has left himself out has made since, who goes on with him. Other signals
 * are the programs' own to pass on.
 */
static void freeze_for_signal(struct cryo_request *req)
{
	int err;

	if (!sig_kernel_only(req->signal) || !is_signal_due(req))
		return;
	err = cryo_freeze_again(req);
	if (err)
		cryo_log(&req->log,
			 "pid %d (%s): WARNING: processes that have been made since the checkpoint may not get signal %d: %pe",
			 req->pid, req->comm, req->signal, ERR_PTR(err));
}

/*
 * Everybody goes on. After RUN, or after the hold. Returns an error of the signal, if one could not
 * be sent.
 */
static int end_request(struct cryo_request *req, int result)
{
	int first, last;

	if (result)
		req->signal = 0;
	first = send_signals(req, false);
	cryo_point("thaw");
	cryo_thaw(req);
	cryo_point("notify-end");
	cryo_notify_end(req, result);
	cryo_point("ending");
	cryo_notify_wait(req);
	freeze_for_signal(req);
	last = send_signals(req, true);
	cryo_thaw(req);
	cryo_point("scope-end");
	if (last || first)
		cryo_connections_keep(req);
	cryo_connections_forget(req);
	cryo_scope_end(req);
	return last ?: first;
}

/* From now on the caller's time limit counts, and a cancel ends waits. */
static void begin_work(struct cryo_request *req)
{
	set_worker(req, current);
	req->deadline = jiffies + cryo_jiffies(req->args.timeout_ms);
	if (req->args.timeout_ms)
		mod_timer(&req->timer, req->deadline);
}

static void end_work(struct cryo_request *req)
{
	timer_delete_sync(&req->timer);
	set_worker(req, NULL);
}

/* With the target claimed. */
static int run_in_scope(struct cryo_request *req)
{
	int err = notify_and_capture(req);

	/* An interrupted write says EINTR; what interrupted it says why. */
	if (err == -EINTR)
		err = cryo_request_interrupted(req) ?: -EINTR;
	end_work(req);
	cryo_request_close_output(req);
	if (err || !(req->args.flags & CRYO_CKPT_HOLD))
		end_request(req, err);
	else
		cryo_point("held");
	return err;
}

/* Open for writing, of whatever can be written to. */
static bool is_output(const struct file *file)
{
	return (file->f_mode & (FMODE_WRITE | FMODE_CAN_WRITE)) == (FMODE_WRITE | FMODE_CAN_WRITE);
}

/*
 * What the caller has at the number that was given when the handle was made, if it is what was
 * there then. The address does not tell that for sure, as nobody has held the file: another one may
 * be at it, which has to be asked the same.
 */
static int open_output(struct cryo_request *req)
{
	if (!req->out_key)
		return 0;
	req->out = fget(req->args.out_fd);
	if (req->out && req->out == req->out_key && is_output(req->out))
		return 0;
	cryo_request_close_output(req);
	return -EBADF;
}

/* With req->lock held. */
static int run_request(struct cryo_request *req)
{
	int err;

	lockdep_assert_held(&req->lock);
	if (req->state != CRYO_STATE_NEW)
		return -EBUSY;
	err = open_output(req);
	if (err)
		return err;
	trace_cryo_request_begin(req->target, req->args.scope, req->args.flags);
	if (req->args.flags & CRYO_CKPT_SIGNAL)
		req->signal = abs(req->args.announced_signal);
	begin_work(req);
	err = cryo_scope_begin(req);
	if (err)
		end_work(req);
	else
		err = run_in_scope(req);
	trace_cryo_request_end(req->target, err, &req->written, req->pages_saved);
	cryo_request_close_output(req);
	req->result = err;
	cryo_log_end(&req->log);
	cryo_request_state(req, err ? CRYO_STATE_FAILED :
			   req->args.flags & CRYO_CKPT_HOLD ? CRYO_STATE_HELD : CRYO_STATE_DONE);
	WRITE_ONCE(req->done, true);
	wake_up_all(&req->done_wait);
	return err;
}

static long ioctl_run(struct cryo_request *req)
{
	long ret;

	if (cryo_request_lock(req))
		return -EINTR;
	ret = run_request(req);
	cryo_request_unlock(req);
	return ret;
}

/*
 * May the caller send it to all of them? Nobody goes on with it otherwise. With the rights of who
 * asks now, as by kill(2). Those that get it when their callbacks have ended are only asked about.
 */
static int signal_scope(struct cryo_request *req, int signal)
{
	bool first = req->args.announced_signal < 0;
	struct cryo_proc *p;
	int err = 0;
	bool later;

	/* All that can be told are told, whatever some of them answer. */
	cryo_for_each_proc(p, req) {
		if (fatal_signal_pending(current))
			return -EINTR;
		later = !first && cryo_notify_ends_later(p);
		if (!p->omitted)
			err = signal_proc(p, later && signal != SIGCONT ? 0 : signal) ?: err;
		p->signalled = !later || signal == SIGCONT;
		cond_resched();
	}
	return err;
}

static long ioctl_thaw(struct cryo_request *req, unsigned long signal)
{
	long ret = -EINVAL;

	if (signal > _NSIG)
		return -EINVAL;
	if (cryo_request_lock(req))
		return -EINTR;
	if (req->state == CRYO_STATE_HELD) {
		if (signal == SIGKILL)
			abort_connections(req, req->args.announced_signal < 0);
		ret = signal ? signal_scope(req, signal) : 0;
		if (!ret) {
			req->signal = signal;
			ret = end_request(req, 0);
			cryo_request_state(req, CRYO_STATE_DONE);
		} else {
			cryo_connections_keep(req);
		}
	}
	cryo_request_unlock(req);
	return ret;
}

static long ioctl_status(struct cryo_request *req, void __user *arg)
{
	struct cryo_ckpt_status status = {
		.state = READ_ONCE(req->state),
		.result = READ_ONCE(req->done) ? req->result : 0,
		.threads = req->threads,
		.freeze_ns = req->freeze_ns,
		.pause_ns = req->pause_ns,
		.bytes_written = atomic64_read(&req->written),
		.pages_saved = req->pages_saved,
		.pages_zero = req->pages_zero,
		.processes = req->nr_procs,
		.snapshot = READ_ONCE(req->resumed),
		.pages_unchanged = req->pages_unchanged,
		.bytes_total = READ_ONCE(req->estimate),
		.obstacles = READ_ONCE(req->obstacles),
	};
	u32 size;

	if (get_user(size, (u32 __user *)arg))
		return -EFAULT;
	if (size < offsetofend(struct cryo_ckpt_status, result))
		return -EINVAL;
	status.size = min_t(u32, size, sizeof(status));
	return copy_to_user(arg, &status, status.size) ? -EFAULT : 0;
}

static long ioctl_device(struct cryo_request *req, void __user *arg)
{
	long ret = -EBUSY;

	if (cryo_request_lock(req))
		return -EINTR;
	if (req->state == CRYO_STATE_NEW)
		ret = cryo_device_rule_add(req, arg);
	cryo_request_unlock(req);
	return ret;
}

static long request_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct cryo_request *req = file->private_data;

	switch (cmd) {
	case CRYO_CKPT_RUN:
		return ioctl_run(req);
	case CRYO_CKPT_THAW:
		return ioctl_thaw(req, arg);
	case CRYO_CKPT_CANCEL:
		WRITE_ONCE(req->cancelled, true);
		cryo_request_poke(req);
		return 0;
	case CRYO_CKPT_STATUS:
		return ioctl_status(req, (void __user *)arg);
	case CRYO_CKPT_VERDICT:
		return cryo_get_verdict(req, (void __user *)arg);
	case CRYO_CKPT_DEVICE:
		return ioctl_device(req, (void __user *)arg);
	case CRYO_CKPT_PARENT:
		return cryo_track_ask(req, (void __user *)arg);
	case CRYO_CKPT_COMPLETE:
		return cryo_track_commit(req, (void __user *)arg);
	}
	return -ENOTTY;
}

static ssize_t request_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	struct cryo_request *req = file->private_data;

	return cryo_log_read(&req->log, buf, count, pos);
}

static __poll_t request_poll(struct file *file, poll_table *wait)
{
	struct cryo_request *req = file->private_data;

	poll_wait(file, &req->done_wait, wait);
	return READ_ONCE(req->done) ? EPOLLIN | EPOLLRDNORM : 0;
}

static int request_release(struct inode *inode, struct file *file)
{
	struct cryo_request *req = file->private_data;

	/*
	 * Nobody is in RUN: that has a reference to the file. Who closes it does not wait for
	 * callbacks.
	 */
	WRITE_ONCE(req->cancelled, true);
	if (req->state == CRYO_STATE_HELD)
		end_request(req, 0);
	/* Works that were left may keep the request for long. */
	cryo_log_free(&req->log);
	cryo_request_put(req);
	return 0;
}

const struct file_operations cryo_request_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = request_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.read = request_read,
	.poll = request_poll,
	.release = request_release,
	.llseek = noop_llseek,
};

static int copy_args(struct cryo_checkpoint *args, void __user *arg)
{
	int err;

	err = cryo_copy_args(args, sizeof(*args), offsetofend(struct cryo_checkpoint, out_fd), arg);
	if (err)
		return err;
	if (args->flags & ~CRYO_CKPT_FLAGS || args->reserved || args->reserved2)
		return -EINVAL;
	if (args->scope > CRYO_SCOPE_MAX)
		return -EINVAL;
	if (!(args->flags & CRYO_CKPT_SAVE_OPEN) && (args->save_limit || args->save_total))
		return -EINVAL;
	if (!(args->flags & CRYO_CKPT_SIGNAL))
		return 0;
	/* Who holds them sends it by CRYO_CKPT_THAW. */
	if (args->flags & CRYO_CKPT_HOLD || !args->announced_signal ||
	    args->announced_signal > _NSIG || args->announced_signal < -_NSIG)
		return -EINVAL;
	return 0;
}

static int open_target(struct cryo_request *req)
{
	struct task_struct *task = cryo_find_target(req->args.target, req->args.scope,
						    &req->scope_pid);

	if (IS_ERR(task))
		return PTR_ERR(task);
	req->target = task;
	req->pid = task_tgid_vnr(task);
	get_task_comm(req->comm, task);
	return 0;
}

/*
 * A handle that has not been run holds no file: a Unix socket or a ring of io_uring that itself
 * holds the handle would keep both for ever. Whether it is the one that was meant is seen by its
 * address, most likely: see open_output().
 */
static int check_output(struct cryo_request *req)
{
	struct file *file;
	bool writable;

	if (req->args.flags & CRYO_CKPT_DRY_RUN)
		return 0;
	file = fget(req->args.out_fd);
	if (!file)
		return -EBADF;
	writable = is_output(file);
	req->out_key = file;
	fput(file);
	return writable ? 0 : -EBADF;
}

long cryo_request_create(void __user *arg)
{
	struct cryo_request *req = cryo_request_alloc();
	int fd, err;

	if (!req)
		return -ENOMEM;
	err = copy_args(&req->args, arg);
	if (!err)
		err = open_target(req);
	if (!err)
		err = check_output(req);
	if (err)
		goto put_request;
	fd = anon_inode_getfd("[cryo-checkpoint]", &cryo_request_fops, req, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		err = fd;
		goto put_request;
	}
	return fd;

put_request:
	cryo_request_put(req);
	return err;
}

long cryo_restarted_create(void)
{
	struct cryo_request *req = cryo_request_alloc();
	int fd;

	if (!req)
		return -ENOMEM;
	req->state = CRYO_STATE_RESTARTED;
	req->done = true;
	fd = anon_inode_getfd("[cryo-checkpoint]", &cryo_request_fops, req, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		cryo_request_put(req);
	return fd;
}
