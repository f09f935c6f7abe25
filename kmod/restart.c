// SPDX-License-Identifier: GPL-2.0-only
/*
 * restart.c - the last step of a restart
 *
 * The threads of the processes that user space has rebuilt join a group and park on their way to user mode.
 * When all are there, the coordinator, which is another process, gives them their registers: a task
 * cannot set its own.  Then all go on, or, when anything fails, all are killed.
 *
 * Everything here is done to the caller or to tasks that joined by themselves.
 */
#include <linux/anon_inodes.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/regset.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat/ksym.h"
#include "cryo.h"
#include "cryo_arch.h"
#include "map.h"
#include "unload.h"

#define COMMIT_DEFAULT_MS	60000
#define PARK_POLL_US		20
#define PARKED_STATE		(TASK_KILLABLE | TASK_FREEZABLE)
#define LEADER_EXIT_JIFFIES	(10 * HZ)

enum stage {
	GATHER,		/* threads arrive */
	SETUP,		/* registers are set; each leader finishes its process */
	GO,		/* all go on */
	ABORTED,	/* all die */
};

struct member {
	struct callback_head work;
	struct list_head node;
	struct group *group;		/* counted until the work has run */
	struct task_struct *task;	/* counted */
	struct cryo_resume args;
	struct cryo_regset *sets;	/* args.nr_regsets; data are kernel addresses */
	struct cryo_tables tables;	/* that it takes from another process at the end */
	struct cryo_held *held;		/* until callbacks are through; NULL: it goes on at once */
	bool parked;
};

struct group {
	struct kref ref;
	struct mutex lock;		/* serialises commit, join and abort */
	struct pid *coordinator;	/* thread group that made the group */
	const struct cred *creds;	/* its credentials then */
	fl_owner_t table;		/* its descriptor table: compared, never followed */
	unsigned int threads;
	unsigned int processes;
	struct list_head members;
	unsigned int joined;
	unsigned int leaders;		/* of these, leaders of their process */
	struct cryo_map_files map_files;	/* see restart_map.c */

	spinlock_t state_lock;		/* protects all below */
	enum stage stage;
	unsigned int parked;
	bool lost;			/* a thread that had joined is dying */
	unsigned int set_up;		/* processes that their leaders have finished */
	int setup_error;		/* the first one, in the process ... */
	pid_t setup_pid;
	const char *setup_what;
	wait_queue_head_t coordinator_wait;
	wait_queue_head_t go_wait;
	struct cryo_log log;
};

static void member_free(struct member *m)
{
	unsigned int i;

	for (i = 0; m->sets && i < m->args.nr_regsets; i++)
		kvfree((void *)(unsigned long)m->sets[i].data);
	kfree(m->sets);
	cryo_tables_put(&m->tables);
	cryo_held_free(m->held);
	if (m->task)
		put_task_struct(m->task);
	kfree(m);
}

static void group_free(struct kref *ref)
{
	struct group *g = container_of(ref, struct group, ref);
	struct member *m, *next;

	list_for_each_entry_safe(m, next, &g->members, node)
		member_free(m);
	put_pid(g->coordinator);
	put_cred(g->creds);
	cryo_map_files_put(&g->map_files);
	cryo_log_free(&g->log);
	kfree(g);
}

static void group_put(struct group *g)
{
	kref_put(&g->ref, group_free);
}

static enum stage stage_of(struct group *g)
{
	return READ_ONCE(g->stage);
}

/* Never back, and never from GO or ABORTED. */
static bool set_stage(struct group *g, enum stage stage)
{
	bool set;

	spin_lock(&g->state_lock);
	set = g->stage < GO;
	if (set)
		WRITE_ONCE(g->stage, stage);
	spin_unlock(&g->state_lock);
	wake_up_all(&g->go_wait);
	wake_up(&g->coordinator_wait);
	return set;
}

/* ---- in the threads being restarted ---- */

/* What the leader does for the whole process once nothing of the restart's code runs any more. */
static int finish_process(struct member *m, const char **what)
{
	const struct cryo_resume *args = &m->args;
	int err = 0;

	if (args->unmap_len) {
		*what = "unmapping the restart code";
		err = vm_munmap(args->unmap_start, args->unmap_len);
	}
	if (!err && args->exe_fd >= 0) {
		*what = "setting the executable link";
		err = cryo_restart_take_exe(args->exe_fd);
		close_fd(args->exe_fd);
	}
	if (!err && args->close_fd >= 0) {
		*what = "closing the restart handle";
		err = close_fd(args->close_fd);
	}
	if (!err && args->signal) {
		*what = "sending its signal";
		err = kill_pid(task_tgid(current), args->signal, 0);
	}
	return err;
}

/*
 * A process whose main thread had exited has another one that does its work here: wait until the main
 * thread is a zombie again, and no longer runs the code that is about to be unmapped.
 */
static int wait_leader_gone(const char **what)
{
	unsigned long limit = jiffies + LEADER_EXIT_JIFFIES;

	*what = "waiting for its main thread to exit";
	while (!thread_group_leader(current) && !READ_ONCE(current->group_leader->exit_state)) {
		if (time_after(jiffies, limit))
			return -ETIMEDOUT;
		if (schedule_timeout_killable(1) && fatal_signal_pending(current))
			return -EINTR;
	}
	return 0;
}

static void setup_process(struct member *m)
{
	struct group *g = m->group;
	const char *what = NULL;
	int err = wait_leader_gone(&what) ?: finish_process(m, &what);

	spin_lock(&g->state_lock);
	g->set_up++;
	if (err && !g->setup_error) {
		g->setup_error = err;
		g->setup_what = what;
		g->setup_pid = task_tgid_vnr(current);
	}
	spin_unlock(&g->state_lock);
	wake_up(&g->coordinator_wait);
}

static void set_masks(const struct cryo_resume *args)
{
	sigset_t mask, saved;

	BUILD_BUG_ON(sizeof(mask) != sizeof(args->sigmask));
	memcpy(&mask, &args->sigmask, sizeof(mask));
	memcpy(&saved, &args->saved_sigmask, sizeof(saved));
	sigdelsetmask(&saved, sigmask(SIGKILL) | sigmask(SIGSTOP));
	if (!(args->flags & CRYO_RESUME_RESTORE_SIGMASK)) {
		sigprocmask(SIG_SETMASK, &mask, NULL);
	} else if (cryo_arch_keeps_sigmask()) {
		sigprocmask(SIG_SETMASK, &mask, NULL);
		current->saved_sigmask = saved;
		set_restore_sigmask();
	} else {
		sigprocmask(SIG_SETMASK, &saved, NULL);
	}
}

static void become(struct member *m, bool will_look)
{
	const struct cryo_resume *args = &m->args;

	cryo_tables_swap(&m->tables);
	cryo_tables_put(&m->tables);
	cryo_arch_resume_call(m->sets, args->nr_regsets, will_look);
	set_masks(args);
	if (args->death_signal)
		current->pdeath_signal = args->death_signal;
	cryo_restart_block_set(&args->restart);
}

static int wait_for(struct group *g, enum stage stage)
{
	return wait_event_state(g->go_wait, stage_of(g) >= stage, PARKED_STATE);
}

/* The parked life of a thread. Non-zero: it must die. */
static int park_member(struct member *m, bool will_look)
{
	struct group *g = m->group;

	if (m->args.flags & CRYO_RESUME_LEADER) {
		if (wait_for(g, SETUP) || stage_of(g) == ABORTED)
			return -EINTR;
		setup_process(m);
	}
	if (wait_for(g, GO) || stage_of(g) == ABORTED)
		return -EINTR;
	become(m, will_look);
	if (m->args.flags & CRYO_RESUME_LEADER)
		cryo_map_start();
	return 0;
}

static void note_parked(struct member *m, bool parked)
{
	struct group *g = m->group;

	spin_lock(&g->state_lock);
	if (parked)
		g->parked++;
	else
		g->lost = true;
	m->parked = parked;
	spin_unlock(&g->state_lock);
	wake_up(&g->coordinator_wait);
}

/* The task work: runs in the thread after CRYO_RST_RESUME, on its way to user mode. */
static void resume(struct callback_head *work)
{
	struct member *m = container_of(work, struct member, work);
	struct group *g = m->group;
	struct cryo_held *held = NULL;
	bool will_look;

	if (current->flags & PF_EXITING) {
		note_parked(m, false);
	} else {
		will_look = cryo_arch_resume_begin();
		cryo_arch_begin_park();
		cryo_arch_stay_saved(current);
		note_parked(m, true);
		if (park_member(m, will_look)) {
			note_parked(m, false);
			send_sig(SIGKILL, current, 1);
		} else {
			swap(held, m->held);
		}
	}
	group_put(g);
	if (held)
		cryo_held_start(held);
	else
		cryo_look_at_signals();
	cryo_unload_put();
}

static int copy_regset(struct cryo_regset *set)
{
	void *data;

	if (!set->length || set->length > CRYO_MAX_REGSET_BYTES)
		return -EINVAL;
	data = vmemdup_user((void __user *)(unsigned long)set->data, set->length);
	if (IS_ERR(data))
		return PTR_ERR(data);
	set->data = (unsigned long)data;
	return 0;
}

static int copy_regsets(struct member *m)
{
	struct cryo_regset *sets;
	unsigned int n = m->args.nr_regsets;
	unsigned int i;
	int err = 0;

	if (!n || n > CRYO_MAX_REGSETS)
		return -EINVAL;
	sets = memdup_user((void __user *)(unsigned long)m->args.regsets, n * sizeof(*sets));
	if (IS_ERR(sets))
		return PTR_ERR(sets);
	m->sets = sets;
	for (i = 0; i < n; i++) {
		err = copy_regset(&sets[i]);
		if (err)
			break;
	}
	/* What member_free() may free. */
	m->args.nr_regsets = i;
	return err;
}

static int copy_resume(struct member *m, void __user *arg)
{
	int err;

	err = cryo_copy_args(&m->args, sizeof(m->args), offsetofend(struct cryo_resume, signal),
			     arg);
	if (err)
		return err;
	if (m->args.flags & ~CRYO_RESUME_FLAGS || m->args.signal < 0 || m->args.signal > _NSIG ||
	    m->args.death_signal > _NSIG || m->args.files_of < 0 || m->args.fs_of < 0 ||
	    m->args.reserved)
		return -EINVAL;
	return cryo_restart_block_check(&m->args.restart) ?: copy_regsets(m);
}

/* With g->lock held. */
static int join_group(struct group *g, struct member *m)
{
	bool leader = m->args.flags & CRYO_RESUME_LEADER;

	if (stage_of(g) != GATHER || g->joined == g->threads)
		return -EBUSY;
	if (leader && g->leaders == g->processes)
		return -EINVAL;
	m->group = g;
	init_task_work(&m->work, resume);
	kref_get(&g->ref);
	cryo_unload_get();
	/* Not TWA_SIGNAL: the kernel is to look at signals, and calls that they end, when it has got its registers. */
	if (task_work_add(current, &m->work, TWA_RESUME)) {
		group_put(g);
		cryo_unload_put();
		return -ESRCH;
	}
	m->task = get_task_struct(current);
	list_add_tail(&m->node, &g->members);
	g->joined++;
	g->leaders += leader;
	return 0;
}

static int hold_later(struct member *m)
{
	struct cryo_held *held;

	if (!(m->args.flags & CRYO_RESUME_HELD))
		return 0;
	held = cryo_held_alloc();
	if (IS_ERR(held))
		return PTR_ERR(held);
	m->held = held;
	return 0;
}

static long ioctl_resume(struct group *g, void __user *arg)
{
	struct member *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	int err;

	if (!m)
		return -ENOMEM;
	err = copy_resume(m, arg);
	if (!err)
		err = hold_later(m);
	if (!err)
		err = cryo_install_seccomp(&m->args, g->creds);
	if (!err)
		err = mutex_lock_killable(&g->lock);
	if (err) {
		member_free(m);
		return err;
	}
	cryo_arch_prepare_park(current);
	err = join_group(g, m);
	mutex_unlock(&g->lock);
	if (err)
		member_free(m);
	return err;
}

/* ---- in the coordinator ---- */

static const struct user_regset *find_regset(struct task_struct *task, unsigned int note)
{
	const struct user_regset_view *view = task_user_regset_view(task);
	unsigned int i;

	for (i = 0; i < view->n; i++)
		if (view->regsets[i].core_note_type == note)
			return &view->regsets[i];
	return NULL;
}

static int set_by_kernel(struct task_struct *task, const struct cryo_regset *set)
{
	const struct user_regset *regset = find_regset(task, set->note);
	size_t extension = cryo_arch_regset_extension(set->note);
	size_t length = set->length - extension;

	if (!regset || !regset->set || set->length <= extension || length % regset->size ||
	    length > regset->n * regset->size)
		return -EINVAL;
	return regset->set(task, regset, 0, length, (void *)(unsigned long)set->data, NULL) ?:
		cryo_arch_regset_was_set(task, set);
}

static int set_regset(struct group *g, struct member *m, const struct cryo_regset *set)
{
	int err = -EINVAL;

	if (cryo_arch_want_regset(set->note)) {
		err = cryo_arch_set_regset(m->task, set);
		if (err == -ENOENT)
			err = set_by_kernel(m->task, set);
	}
	if (err)
		cryo_log(&g->log, "thread %d: register set 0x%x (%u bytes) is refused (error %d)",
			 task_pid_vnr(m->task), set->note, set->length, err);
	return err;
}

/* Waits for @m to block. Returns what tells whether it ran again, or 0. */
static unsigned long wait_blocked(struct member *m)
{
	unsigned long switches;

	while (READ_ONCE(m->parked) && !fatal_signal_pending(current)) {
		switches = cryo_wait_task_inactive(m->task, PARKED_STATE);
		if (switches)
			return switches;
		usleep_range(PARK_POLL_US, 2 * PARK_POLL_US);
	}
	return 0;
}

/*
 * A thread that is off its CPU may come back at any time, preempted on its way to sleep or
 * woken for no reason; and what a CPU keeps to itself while in the kernel (segment bases,
 * protection keys) it then takes from the old values and saves over the new ones.  So it
 * is asked afterwards whether the thread has stayed away.
 */
static int set_member_registers(struct group *g, struct member *m)
{
	unsigned long switches;
	unsigned int i;
	int err;

	do {
		switches = wait_blocked(m);
		if (!switches)
			return fatal_signal_pending(current) ? -EINTR : -ESRCH;
		for (i = 0; i < m->args.nr_regsets; i++) {
			err = set_regset(g, m, &m->sets[i]);
			if (err)
				return err;
		}
	} while (cryo_wait_task_inactive(m->task, PARKED_STATE) != switches);
	return 0;
}

static int set_registers(struct group *g)
{
	struct member *m;
	int err;

	list_for_each_entry(m, &g->members, node) {
		err = set_member_registers(g, m);
		if (err)
			return err;
		cond_resched();
	}
	return 0;
}

/* The member whose process has the tables that are called @id. */
static struct member *find_owner(struct group *g, u32 flag, s32 id)
{
	struct member *m;

	list_for_each_entry(m, &g->members, node) {
		if ((m->args.flags & CRYO_RESUME_LEADER) && (m->args.flags & flag) &&
		    id == (flag == CRYO_RESUME_OWNS_FILES ? m->args.files_of : m->args.fs_of))
			return m;
	}
	return NULL;
}

/* What its own process has, it has already; @id 0: it shares none. */
static int get_table(struct group *g, struct member *m, u32 flag, s32 id)
{
	struct member *owner = id ? find_owner(g, flag, id) : m;

	if (!owner) {
		cryo_log(&g->log, "thread %d: no process has the tables %d that it is to share",
			 task_pid_vnr(m->task), id);
		return -EINVAL;
	}
	if (same_thread_group(owner->task, m->task))
		return 0;
	return cryo_tables_get(&m->tables, owner->task, flag == CRYO_RESUME_OWNS_FILES,
			       flag == CRYO_RESUME_OWNS_FS);
}

/* When all processes have done their last with their own ones, and none goes on yet. */
static int get_tables(struct group *g)
{
	struct member *m;
	int err = 0;

	list_for_each_entry(m, &g->members, node) {
		if (!m->args.files_of && !m->args.fs_of)
			continue;
		err = get_table(g, m, CRYO_RESUME_OWNS_FILES, m->args.files_of) ?:
		      get_table(g, m, CRYO_RESUME_OWNS_FS, m->args.fs_of);
		if (err)
			break;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return err;
}

static bool all_parked(struct group *g)
{
	return READ_ONCE(g->parked) == g->threads || READ_ONCE(g->lost) ||
	       stage_of(g) == ABORTED;
}

static int wait_all(struct group *g, unsigned int timeout_ms)
{
	long left = wait_event_killable_timeout(g->coordinator_wait, all_parked(g),
						msecs_to_jiffies(timeout_ms));

	if (left < 0)
		return -EINTR;
	if (READ_ONCE(g->lost) || stage_of(g) == ABORTED)
		return -ESRCH;
	if (!left) {
		cryo_log(&g->log, "only %u of %u threads came within %u ms", g->parked, g->threads,
			 timeout_ms);
		return -ETIMEDOUT;
	}
	return g->leaders == g->processes ? 0 : -EINVAL;
}

static bool is_set_up(struct group *g)
{
	return READ_ONCE(g->set_up) == g->processes || READ_ONCE(g->setup_error) ||
	       READ_ONCE(g->lost);
}

static int wait_setup(struct group *g)
{
	if (!set_stage(g, SETUP))
		return -ESRCH;
	if (wait_event_killable(g->coordinator_wait, is_set_up(g)))
		return -EINTR;
	if (READ_ONCE(g->lost))
		return -ESRCH;
	if (g->setup_error)
		cryo_log(&g->log, "pid %d: %s failed (error %d)", g->setup_pid, g->setup_what,
			 g->setup_error);
	return g->setup_error;
}

static int signal_all(struct group *g, int signal)
{
	struct member *m;
	int err = 0;

	list_for_each_entry(m, &g->members, node) {
		if (m->args.flags & CRYO_RESUME_LEADER &&
		    !cryo_held_signal(task_tgid(m->task), signal))
			err = kill_pid(task_tgid(m->task), signal, 0) ?: err;
	}
	return err;
}

static int commit(struct group *g, const struct cryo_commit *args)
{
	int err;

	if (stage_of(g) != GATHER)
		return -EBUSY;
	err = wait_all(g, args->timeout_ms ?: COMMIT_DEFAULT_MS);
	if (err)
		return err;
	/* From here on nobody joins: all have. */
	if (mutex_lock_killable(&g->lock))
		return -EINTR;
	err = set_registers(g);
	if (!err)
		err = wait_setup(g);
	if (!err)
		err = get_tables(g);
	if (!err && args->signal)
		err = signal_all(g, args->signal);
	if (!err && !set_stage(g, GO))
		err = -ESRCH;
	mutex_unlock(&g->lock);
	return err;
}

static bool is_coordinator(struct group *g)
{
	return task_tgid(current) == g->coordinator;
}

static long ioctl_commit(struct group *g, void __user *arg)
{
	struct cryo_commit args;
	int err;

	if (!is_coordinator(g))
		return -EPERM;
	err = cryo_copy_args(&args, sizeof(args), offsetofend(struct cryo_commit, signal), arg);
	if (err)
		return err;
	if (args.flags & ~CRYO_COMMIT_FLAGS || args.signal < 0 || args.signal > _NSIG)
		return -EINVAL;
	err = commit(g, &args);
	if (err)
		set_stage(g, ABORTED);
	return err;
}

static long group_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct group *g = file->private_data;

	switch (cmd) {
	case CRYO_RST_RESUME:
		return ioctl_resume(g, (void __user *)arg);
	case CRYO_RST_COMMIT:
		return ioctl_commit(g, (void __user *)arg);
	case CRYO_RST_STATUS:
		return stage_of(g) == GO;
	case CRYO_RST_EPOLL_DISARM:
		return cryo_restart_epoll_disarm((void __user *)arg);
	case CRYO_RST_PID_CURSOR:
		return cryo_restart_pid_cursor(g->coordinator, (void __user *)arg);
	case CRYO_RST_OUTER_PID:
		return cryo_restart_outer_pid(g->coordinator, (void __user *)arg);
	case CRYO_RST_PEER_PID:
		return cryo_restart_peer_pid((void __user *)arg);
	case CRYO_RST_DATAGRAM:
		return cryo_restart_datagram((void __user *)arg);
	case CRYO_RST_PORT:
		return cryo_restart_port((void __user *)arg);
	case CRYO_RST_TIMER:
		return cryo_restart_timer((void __user *)arg);
	case CRYO_RST_URING:
		return cryo_restart_uring((void __user *)arg);
	case CRYO_RST_SHADOW_STACK:
		return cryo_restart_shadow_stack((void __user *)arg);
	case CRYO_RST_MAP_FILE:
		if (!is_coordinator(g))
			return -EPERM;
		return cryo_restart_map_file(&g->map_files, (void __user *)arg);
	case CRYO_RST_MAP:
		return cryo_restart_map(&g->map_files, (void __user *)arg);
	}
	return -ENOTTY;
}

static int group_mmap(struct file *file, struct vm_area_struct *vma)
{
	return cryo_restart_uring_mmap(vma);
}

static ssize_t group_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	struct group *g = file->private_data;

	return cryo_log_read(&g->log, buf, count, pos);
}

/*
 * Each close(2), and the exit of each process that has the handle.  A fork() that fails
 * in the coordinator closes the copy of its table, which is another one.
 */
static int group_flush(struct file *file, fl_owner_t id)
{
	struct group *g = file->private_data;

	if (id == g->table)
		set_stage(g, ABORTED);
	return 0;
}

static int group_release(struct inode *inode, struct file *file)
{
	struct group *g = file->private_data;

	set_stage(g, ABORTED);
	group_put(g);
	return 0;
}

static const struct file_operations group_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = group_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.read = group_read,
	.mmap = group_mmap,
	.flush = group_flush,
	.release = group_release,
	.llseek = noop_llseek,
};

/* Is @file the handle of a restart that has not come to its end? */
bool cryo_is_being_restarted(struct file *file)
{
	return file->f_op == &group_fops && stage_of(file->private_data) < GO;
}

static struct group *group_alloc(unsigned int threads, unsigned int processes)
{
	struct group *g = kzalloc(sizeof(*g), GFP_KERNEL_ACCOUNT);

	if (!g)
		return NULL;
	kref_init(&g->ref);
	mutex_init(&g->lock);
	spin_lock_init(&g->state_lock);
	INIT_LIST_HEAD(&g->members);
	init_waitqueue_head(&g->coordinator_wait);
	init_waitqueue_head(&g->go_wait);
	cryo_log_init(&g->log);
	g->threads = threads;
	g->processes = processes;
	g->coordinator = get_pid(task_tgid(current));
	g->creds = get_current_cred();
	g->table = current->files;
	return g;
}

/* CRYO_IOC_RESTART */
long cryo_restart_create(void __user *arg)
{
	struct cryo_restart args;
	struct group *g;
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
	fd = anon_inode_getfd("[cryo-restart]", &group_fops, g, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		group_put(g);
	return fd;
}
