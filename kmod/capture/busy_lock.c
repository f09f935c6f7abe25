// SPDX-License-Identifier: GPL-2.0-only
/* busy_lock.c - locks that others hold for as long as they like: see busy_lock.h */
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <net/sock.h>

#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "compat/mm.h"
#include "lib/wait.h"

#define LOCK_WAIT_MS	1000U

/* Between two tries. */
static int wait_a_moment(struct cryo_capture *c, unsigned long limit)
{
	int err = cryo_capture_interrupted(c);

	if (err)
		return err;
	if (time_after(jiffies, limit))
		return -EBUSY;
	cryo_sleep(1);
	return 0;
}

static int say_busy(struct cryo_capture *c, const struct cryo_object *o, const char *what, int err)
{
	if (err == -EBUSY && o)
		cryo_log(&c->req->log, "pid %d (%s): fd %d (%s): another process is in a system call on it that does not return",
			 o->proc->pid, o->proc->comm, o->fd >= 0 ? o->fd : o->carrier, what);
	return err;
}

int cryo_busy_mutex_lock(struct cryo_capture *c, struct cryo_object *o, struct mutex *lock,
			 const char *what)
{
	unsigned long limit = jiffies + msecs_to_jiffies(LOCK_WAIT_MS);
	int err = 0;

	while (!err && !mutex_trylock(lock))
		err = wait_a_moment(c, limit);
	return say_busy(c, o, what, err);
}

int cryo_busy_read_lock(struct cryo_capture *c, struct cryo_object *o, struct rw_semaphore *lock,
			const char *what)
{
	unsigned long limit = jiffies + msecs_to_jiffies(LOCK_WAIT_MS);
	int err = 0;

	while (!err && !down_read_trylock(lock))
		err = wait_a_moment(c, limit);
	return say_busy(c, o, what, err);
}

#define MMAP_POLL_NS		50000
#define MMAP_POLL_MAX_NS	1000000

/* Between two tries, which become rarer. */
static int wait_for_mmap_lock(struct cryo_request *req, u64 *ns)
{
	ktime_t pause = ns_to_ktime(*ns);
	int err = cryo_request_interrupted(req);

	if (err)
		return err;
	*ns = min_t(u64, 2 * *ns, MMAP_POLL_MAX_NS);
	set_current_state(CRYO_WAIT_STATE);
	schedule_hrtimeout(&pause, HRTIMER_MODE_REL);
	return 0;
}

int cryo_mmap_read_lock(struct cryo_request *req, struct mm_struct *mm)
{
	u64 pause = MMAP_POLL_NS;
	int err = 0;

	while (!err && !mmap_read_trylock(mm))
		err = wait_for_mmap_lock(req, &pause);
	return err;
}

int cryo_mmap_write_lock(struct cryo_request *req, struct mm_struct *mm)
{
	u64 pause = MMAP_POLL_NS;
	int err = 0;

	while (!err && !cryo_mmap_write_trylock(mm))
		err = wait_for_mmap_lock(req, &pause);
	return err;
}

int cryo_busy_work(struct cryo_capture *c, struct cryo_object *o, struct work_struct *work,
		   const char *what)
{
	unsigned long limit = jiffies + msecs_to_jiffies(LOCK_WAIT_MS);
	int err = 0;

	while (!err && work_busy(work))
		err = wait_a_moment(c, limit);
	return say_busy(c, o, what, err);
}

/* What lock_sock() does when nobody has it. */
static bool try_sock_lock(struct sock *sk)
{
	bool got;

	spin_lock_bh(&sk->sk_lock.slock);
	got = !sk->sk_lock.owned;
	if (got) {
		sk->sk_lock.owned = 1;
		mutex_acquire(&sk->sk_lock.dep_map, 0, 1, _RET_IP_);
	}
	spin_unlock_bh(&sk->sk_lock.slock);
	return got;
}

int cryo_sock_lock(struct cryo_capture *c, struct cryo_object *o, struct sock *sk)
{
	unsigned long limit = jiffies + msecs_to_jiffies(LOCK_WAIT_MS);
	int err = 0;

	while (!err && !try_sock_lock(sk))
		err = wait_a_moment(c, limit);
	return say_busy(c, o, "socket", err);
}

void cryo_sock_unlock(struct sock *sk)
{
	release_sock(sk);
}
