// SPDX-License-Identifier: GPL-2.0-only
/*
 * client.c - the handle of a process that takes part in its own checkpoint
 *
 * The handle is used by one thread of its owner, the helper: it waits for a
 * request, and votes.  A process has its handle in its context, and a new one in the
 * same place after a restart, so that a call that was going on goes on with that.
 */
#include <linux/anon_inodes.h>
#include <linux/cred.h>
#include <linux/fcntl.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <cryo/client.h>
#include <cryo/ioctl.h>

#include "client/client.h"
#include "lib/args.h"
#include "lib/in_use.h"
#include "request/exclusions.h"
#include "request/participant.h"
#include "request/request.h"
#include "request/scope.h"

/* How many handles @owner has; no more than CRYO_MAX_CLIENTS. */
static unsigned int handles_of(struct pid *owner)
{
	struct cryo_participant *p = NULL;
	unsigned int n = 0;

	lockdep_assert_held(&cryo_participants_lock);
	while ((p = cryo_participant_find(owner, p)))
		n++;
	return n;
}

/* The handle becomes that of the caller's process. */
static int bind_handle(struct cryo_participant *p)
{
	struct pid *owner = task_tgid(current);

	if (handles_of(owner) >= CRYO_MAX_CLIENTS)
		return -ENOSPC;
	p->owner = get_pid(owner);
	hash_add(cryo_participants, &p->hash, (unsigned long)owner);
	cryo_registrations++;
	return 0;
}

/* Is the caller's process the one to use the handle? It is if none has so far. */
static int own_handle(struct cryo_participant *p)
{
	int err = p->owner || p->closed ? 0 : bind_handle(p);

	lockdep_assert_held(&cryo_participants_lock);
	if (err)
		return err;
	return p->owner == task_tgid(current) ? 0 : -EPERM;
}

/* The same, and from now on the caller is the helper. */
static int enter_helper(struct cryo_participant *p)
{
	struct pid *self = task_pid(current);
	int err = own_handle(p);

	if (!err && p->helper != self) {
		put_pid(p->helper);
		p->helper = get_pid(self);
	}
	if (!err)
		p->program = READ_ONCE(current->self_exec_id);
	return err;
}

static bool is_owner(struct cryo_participant *p)
{
	bool mine;

	spin_lock(&cryo_participants_lock);
	mine = p->owner == task_tgid(current);
	spin_unlock(&cryo_participants_lock);
	return mine;
}

static int copy_out(void __user *arg, const void *from, size_t known, u32 size)
{
	return copy_to_user(arg, from, min_t(size_t, size, known)) ? -EFAULT : 0;
}

/* @text, NUL-terminated and cut to @room bytes, for the user. */
static int put_text(u64 to, u32 room, const char *text)
{
	size_t len = strnlen(text, room ? room - 1 : 0);
	char __user *at = u64_to_user_ptr(to);

	if (!room)
		return 0;
	return copy_to_user(at, text, len) || put_user('\0', at + len) ? -EFAULT : 0;
}

/* ---- waiting for a request ---- */

static bool may_fetch(struct cryo_participant *p)
{
	bool told;

	spin_lock(&cryo_participants_lock);
	told = p->state == CRYO_PART_TOLD;
	spin_unlock(&cryo_participants_lock);
	return told;
}

static int is_handle(const void *handle, struct file *file, unsigned int fd)
{
	return file == handle;
}

#define STDIO_FDS	3

/* Not one that a program may be about to choose by having closed it. */
static int get_number(void)
{
	int low[STDIO_FDS], n = 0, fd;

	for (;;) {
		fd = get_unused_fd_flags(O_CLOEXEC);
		if (fd < 0 || fd >= STDIO_FDS)
			break;
		low[n++] = fd;
	}
	while (n)
		put_unused_fd(low[--n]);
	return fd;
}

/* The request, counted; the participant is active. NULL: it has been given up meanwhile. */
static struct cryo_request *fetch_request(struct cryo_participant *p)
{
	struct cryo_request *req = NULL;

	spin_lock(&cryo_participants_lock);
	if (p->state == CRYO_PART_TOLD) {
		req = p->req;
		cryo_request_get(req);
		p->state = CRYO_PART_ACTIVE;
		p->busy = true;
		p->no_end = false;
		p->note[0] = '\0';
	}
	spin_unlock(&cryo_participants_lock);
	return req;
}

static void fetch_again(struct cryo_participant *p)
{
	spin_lock(&cryo_participants_lock);
	if (p->state == CRYO_PART_ACTIVE)
		p->state = CRYO_PART_TOLD;
	cryo_participant_back(p);
	spin_unlock(&cryo_participants_lock);
}

static int tell_client(struct cryo_request *req, struct cryo_client_request *out, void __user *arg)
{
	u32 size = out->size;
	int err;

	out->scope = req->args.scope;
	out->requester = pid_nr_ns(req->requester, task_active_pid_ns(current));
	out->target = req->args.target;
	out->signal = abs(req->args.announced_signal);
	err = put_text(out->dest, min_t(u32, out->dest_size, PATH_MAX), req->dest ?: "");
	return err ?: copy_out(arg, out, sizeof(*out), size);
}

/*
 * The same; but the caller's process may have closed the descriptor, as some close all that they do
 * not know, while this call held the handle: then it gets another one, if the caller knows that
 * this can be.
 */
static int tell_handle(struct cryo_request *req, struct file *file, struct cryo_client_request *out,
		       void __user *arg)
{
	bool lost = !iterate_fd(current->files, 0, is_handle, file);
	int err, fd = 0;

	if (lost && out->size >= offsetofend(struct cryo_client_request, handle))
		fd = get_number();
	out->handle = max(fd, 0);
	err = tell_client(req, out, arg);
	if (fd <= 0)
		return err;
	if (err)
		put_unused_fd(fd);
	else
		fd_install(fd, get_file(file));
	return err;
}

/*
 * Under the lock: the helper waits for another request, and has not voted on this one. So does a
 * library whose vote has been refused, as it is newer than the module and has come to it with a
 * restart. Its callbacks are over: it is not waited for.
 */
static void refuse_without_vote(struct cryo_participant *p)
{
	lockdep_assert_held(&cryo_participants_lock);
	p->state = CRYO_PART_VOTED;
	p->vote = CRYO_VOTE_TEMPORARY;
	p->code = CRYO_CODE_TEMPORARY;
	strscpy(p->note, "it has not voted, and waits for another checkpoint", sizeof(p->note));
	p->req->missing--;
	p->req->news = true;
	wake_up(&p->req->park_wait);
}

/* A call that is made again takes a descriptor, which may be closed by now. */
static long interrupted_wait(struct file *file, struct cryo_client_request *out, void __user *arg)
{
	int fd;

	if (!(out->flags & CRYO_WAIT_HANDLE) || iterate_fd(current->files, 0, is_handle, file))
		return -ERESTARTSYS;
	fd = get_number();
	if (fd < 0)
		return -ERESTARTSYS;
	if (put_user(fd, &((struct cryo_client_request __user *)arg)->handle)) {
		put_unused_fd(fd);
		return -EFAULT;
	}
	fd_install(fd, get_file(file));
	return -EAGAIN;
}

static long client_wait(struct cryo_participant *p, struct file *file, void __user *arg)
{
	struct cryo_client_request out = {};
	struct cryo_request *req;
	bool same;
	int err;

	err = cryo_copy_args(&out, sizeof(out), offsetofend(struct cryo_client_request, dest), arg);
	if (err)
		return err;
	if (out.flags & ~CRYO_WAIT_HANDLE)
		return -EINVAL;
	spin_lock(&cryo_participants_lock);
	same = p->helper == task_pid(current);
	err = enter_helper(p);
	if (!err && same && p->state == CRYO_PART_ACTIVE)
		refuse_without_vote(p);
	/* A waiter wants no result any more, and holds no threads. */
	if (!err)
		p->restarted = false;
	if (!err && p->state == CRYO_PART_ENDED)
		p->state = CRYO_PART_IDLE;
	spin_unlock(&cryo_participants_lock);
	if (err)
		return err;
	cryo_held_end(p);
	spin_lock(&cryo_participants_lock);
	cryo_participant_back(p);
	spin_unlock(&cryo_participants_lock);
	do {
		if (wait_event_interruptible(p->wait, may_fetch(p)))
			return interrupted_wait(file, &out, arg);
		req = fetch_request(p);
	} while (!req);
	err = tell_handle(req, file, &out, arg);
	if (err)
		fetch_again(p);
	cryo_request_put(req);
	return err;
}

static long client_note(struct cryo_participant *p, const char __user *arg)
{
	char note[CRYO_CLIENT_NOTE_MAX];
	long len = strncpy_from_user(note, arg, sizeof(note));
	long ret = 0;

	if (len < 0)
		return len;
	if (len == sizeof(note))
		return -E2BIG;
	spin_lock(&cryo_participants_lock);
	/* Over, or even asked again by another request. */
	if (p->owner != task_tgid(current))
		ret = -EPERM;
	else if (p->state != CRYO_PART_ACTIVE)
		ret = -ECANCELED;
	else
		memcpy(p->note, note, len + 1);
	spin_unlock(&cryo_participants_lock);
	return ret;
}

/* ---- voting ---- */

/* Under the lock, of a participant that is active: its vote. */
static void note_vote(struct cryo_participant *p, const struct cryo_client_vote *v)
{
	lockdep_assert_held(&cryo_participants_lock);
	p->state = CRYO_PART_VOTED;
	p->vote = v->vote;
	p->holds = v->flags & CRYO_VOTE_HOLD;
	p->no_end = v->flags & CRYO_VOTE_NO_END;
	p->code = v->code;
	if (p->voter)
		put_cred(p->voter);
	p->voter = get_current_cred();
	p->req->missing--;
	p->req->news |= v->vote != CRYO_VOTE_READY;
	if (p->req->news || !p->req->missing)
		wake_up(&p->req->park_wait);
}

/*
 * Under the lock: count the vote. Returns whether the helper has to wait for the end, which
 * is so as well when a signal had interrupted that wait.
 */
static bool cast_vote(struct cryo_participant *p, struct cryo_client_vote *v)
{
	lockdep_assert_held(&cryo_participants_lock);
	if (p->restarted) {
		p->restarted = false;
		v->result = 1;
		v->requester = p->requester;
		return false;
	}
	if (p->state == CRYO_PART_ACTIVE)
		note_vote(p, v);
	if (p->state == CRYO_PART_VOTED && p->vote == CRYO_VOTE_READY)
		return true;
	switch (p->state) {
	case CRYO_PART_VOTED:
		v->result = 0;
		break;
	case CRYO_PART_ENDED:
		v->result = p->result;
		p->state = CRYO_PART_IDLE;
		break;
	default:
		/* There is no request, or another one by now. */
		v->result = -ECANCELED;
	}
	return false;
}

static bool participant_is_over(struct cryo_participant *p)
{
	bool over;

	spin_lock(&cryo_participants_lock);
	over = p->state != CRYO_PART_VOTED;
	spin_unlock(&cryo_participants_lock);
	return over;
}

static long client_vote(struct cryo_participant *p, void __user *arg)
{
	struct cryo_client_vote v = {};
	bool wait;
	u32 size;
	int err;

	err = cryo_copy_args(&v, sizeof(v), sizeof(v), arg);
	if (err)
		return err;
	size = v.size;
	if (v.vote > CRYO_VOTE_PERMANENT || v.code > U16_MAX || v.flags & ~CRYO_VOTE_FLAGS)
		return -EINVAL;
	v.requester = 0;
	/* After a restart it looks at the threads that are held. */
	if (wait_event_interruptible(p->settle_wait, cryo_held_settled(p)))
		return -ERESTARTSYS;
	spin_lock(&cryo_participants_lock);
	err = enter_helper(p);
	wait = !err && cast_vote(p, &v);
	spin_unlock(&cryo_participants_lock);
	if (err)
		return err;
	if (wait) {
		if (wait_event_interruptible(p->wait, participant_is_over(p)))
			return -ERESTARTSYS;
		spin_lock(&cryo_participants_lock);
		v.result = p->result;
		if (p->state == CRYO_PART_ENDED)
			p->state = CRYO_PART_IDLE;
		spin_unlock(&cryo_participants_lock);
	}
	return copy_out(arg, &v, sizeof(v), size);
}

static long restart_info(struct cryo_participant *p, void __user *arg)
{
	struct cryo_client_restart out = {};
	u32 room;
	int err;

	err = cryo_copy_args(&out, sizeof(out), offsetofend(struct cryo_client_restart, source),
			     arg);
	if (err)
		return err;
	/* Fixed when the handle was made. */
	if (!p->has_restart)
		return -ENODATA;
	out.requester = p->requester;
	room = out.facts_size;
	out.facts_size = p->facts_len;
	err = put_text(out.source, min_t(u32, out.source_size, PATH_MAX), p->source ?: "");
	if (err)
		return err;
	if (room >= p->facts_len &&
	    copy_to_user(u64_to_user_ptr(out.facts), p->facts, p->facts_len))
		return -EFAULT;
	return copy_out(arg, &out, sizeof(out), out.size);
}

/* By the restart, before the process goes on: a checkpoint may come before its helper does. */
static long client_claim(struct cryo_participant *p)
{
	int err;

	spin_lock(&cryo_participants_lock);
	err = own_handle(p);
	spin_unlock(&cryo_participants_lock);
	return err;
}

/* ---- forwarding ---- */

static struct cryo_forward *forward_alloc(const struct cryo_client_forward *args)
{
	struct pid *group;
	struct task_struct *task = cryo_find_target(args->target, args->scope, &group);
	struct cryo_forward *f;

	if (IS_ERR(task))
		return ERR_CAST(task);
	/* No checkpoint that has it can come about. */
	f = is_global_init(task) ? ERR_PTR(-EPERM) : kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);
	if (IS_ERR_OR_NULL(f)) {
		put_task_struct(task);
		put_pid(group);
		return f ?: ERR_PTR(-ENOMEM);
	}
	kref_init(&f->ref);
	f->scope = args->scope;
	f->task = task;
	f->pid = group;
	f->cred = get_current_cred();
	return f;
}

/* Hand @f to the request, which is returned, counted; or an ERR_PTR. */
static struct cryo_request *submit_request(struct cryo_participant *p, struct cryo_forward *f)
{
	struct cryo_request *req = ERR_PTR(-ECANCELED);

	spin_lock(&cryo_participants_lock);
	if (p->owner != task_tgid(current)) {
		req = ERR_PTR(-EPERM);
	} else if (p->state == CRYO_PART_ACTIVE && !p->req->no_forwards &&
		   p->req->nr_forwards == CRYO_MAX_FORWARDS) {
		req = ERR_PTR(-ENOSPC);
	} else if (p->state == CRYO_PART_ACTIVE && !p->req->no_forwards) {
		req = p->req;
		req->nr_forwards++;
		req->news = true;
		cryo_request_get(req);
		kref_get(&f->ref);
		list_add_tail(&f->node, &req->forwards);
		wake_up(&req->park_wait);
	}
	spin_unlock(&cryo_participants_lock);
	return req;
}

static bool is_done(struct cryo_forward *f)
{
	bool done;

	spin_lock(&cryo_participants_lock);
	done = f->done;
	spin_unlock(&cryo_participants_lock);
	return done;
}

static long client_forward(struct cryo_participant *p, void __user *arg)
{
	struct cryo_client_forward args = {};
	struct cryo_request *req;
	struct cryo_forward *f;
	long ret;

	ret = cryo_copy_args(&args, sizeof(args), sizeof(args), arg);
	if (ret)
		return ret;
	if (args.scope > CRYO_SCOPE_TREE || args.reserved)
		return -EINVAL;
	f = forward_alloc(&args);
	if (IS_ERR(f))
		return PTR_ERR(f);
	req = submit_request(p, f);
	ret = PTR_ERR_OR_ZERO(req);
	if (!ret) {
		/* Made again after a signal: what is added already is no error. */
		ret = wait_event_interruptible(req->forward_wait, is_done(f));
		if (!ret)
			ret = f->result;
		cryo_request_put(req);
	}
	cryo_forward_put(f);
	return ret;
}

/* ---- leaving memory out ---- */

static long client_exclude(struct cryo_participant *p, void __user *arg)
{
	struct cryo_exclusions *x = cryo_exclusions_copy(arg);
	long ret = 0;

	if (IS_ERR(x))
		return PTR_ERR(x);
	spin_lock(&cryo_participants_lock);
	if (p->owner != task_tgid(current))
		ret = -EPERM;
	else if (p->state != CRYO_PART_ACTIVE)
		ret = -ECANCELED;
	else
		swap(p->proc->excluded, x);
	spin_unlock(&cryo_participants_lock);
	/* The old ones, or those that are not wanted. */
	cryo_exclusions_free(x);
	return ret;
}

/* ---- the handle ---- */

static long client_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct cryo_participant *p = file->private_data;
	void __user *user = (void __user *)arg;

	switch (cmd) {
	case CRYO_CLIENT_WAIT:
		return client_wait(p, file, user);
	case CRYO_CLIENT_NOTE:
		return client_note(p, user);
	case CRYO_CLIENT_VOTE:
		return client_vote(p, user);
	case CRYO_CLIENT_RESTART_INFO:
		return restart_info(p, user);
	case CRYO_CLIENT_CLAIM:
		return client_claim(p);
	case CRYO_CLIENT_GO:
		return is_owner(p) ? cryo_held_release(p, user) : -EPERM;
	case CRYO_CLIENT_FORWARD:
		return client_forward(p, user);
	case CRYO_CLIENT_EXCLUDE:
		return client_exclude(p, user);
	}
	return -ENOTTY;
}

static __poll_t client_poll(struct file *file, poll_table *wait)
{
	struct cryo_participant *p = file->private_data;

	poll_wait(file, &p->wait, wait);
	return may_fetch(p) ? EPOLLIN | EPOLLRDNORM : 0;
}

static int client_release(struct inode *inode, struct file *file)
{
	struct cryo_participant *p = file->private_data;
	struct cryo_late_signal late = {};

	spin_lock(&cryo_participants_lock);
	WRITE_ONCE(p->closed, true);
	if (p->owner)
		late = cryo_held_late_signal(p);
	if (p->owner)
		hash_del(&p->hash);
	if (p->req) {
		p->req->news = true;
		wake_up(&p->req->park_wait);
	}
	spin_unlock(&cryo_participants_lock);
	/*
	 * The restart's, that was to come when the callbacks are through: a callback has closed all
	 * descriptors.
	 */
	cryo_late_signal_send(p->owner, late);
	cryo_held_wake(p);
	cryo_participant_put(p);
	return 0;
}

const struct file_operations cryo_client_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = client_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = client_poll,
	.release = client_release,
	.llseek = noop_llseek,
};

static int note_facts(struct cryo_participant *p, const struct cryo_client *args)
{
	if (!args->facts_len)
		return 0;
	p->facts = kvmalloc(args->facts_len, GFP_KERNEL_ACCOUNT);
	if (!p->facts)
		return -ENOMEM;
	if (copy_from_user(p->facts, u64_to_user_ptr(args->facts), args->facts_len))
		return -EFAULT;
	p->facts_len = args->facts_len;
	return 0;
}

/* What is allocated here is freed with @p. */
static int note_restart(struct cryo_participant *p, const struct cryo_client *args)
{
	int err;

	if (!(args->flags & CRYO_CLIENT_RESTARTED))
		return args->source_len || args->facts_len || args->requester ||
		       args->flags & CRYO_CLIENT_HOLDS ? -EINVAL : 0;
	if (args->source_len > CRYO_CLIENT_SOURCE_MAX || args->facts_len > CRYO_CLIENT_FACTS_MAX)
		return -EINVAL;
	p->source = cryo_copy_text(args->source, args->source_len);
	if (IS_ERR(p->source)) {
		err = PTR_ERR(p->source);
		p->source = NULL;
		return err;
	}
	err = note_facts(p, args);
	if (err)
		return err;
	p->requester = args->requester;
	p->has_restart = true;
	p->holding = args->flags & CRYO_CLIENT_HOLDS;
	p->restarted = true;
	/* Until it waits: it may have been restarted in the middle of its callbacks. */
	p->busy = true;
	return 0;
}

static struct cryo_participant *participant_alloc(const struct cryo_client *args)
{
	struct cryo_participant *p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	int err;

	if (!p)
		return ERR_PTR(-ENOMEM);
	cryo_use_begin(CRYO_USE_PARTICIPANT);
	kref_init(&p->ref);
	init_waitqueue_head(&p->wait);
	INIT_LIST_HEAD(&p->node);
	xa_init_flags(&p->held, XA_FLAGS_ACCOUNT);
	init_waitqueue_head(&p->settle_wait);
	p->flags = args->flags;
	p->user = cryo_client_user_charge();
	err = PTR_ERR_OR_ZERO(p->user);
	if (err)
		p->user = NULL;
	err = err ?: note_restart(p, args);
	if (err) {
		cryo_participant_put(p);
		return ERR_PTR(err);
	}
	return p;
}

/* The handle is the caller's from the start; one made for another process waits for that. */
static int bind_new(struct cryo_participant *p)
{
	int err;

	if (p->flags & CRYO_CLIENT_RESTARTED)
		return 0;
	spin_lock(&cryo_participants_lock);
	err = bind_handle(p);
	spin_unlock(&cryo_participants_lock);
	return err;
}

/* There is no descriptor: a request may have found it all the same. */
static void unbind_handle(struct cryo_participant *p)
{
	spin_lock(&cryo_participants_lock);
	p->closed = true;
	if (p->owner)
		hash_del(&p->hash);
	spin_unlock(&cryo_participants_lock);
}

long cryo_client_create(void __user *arg)
{
	struct cryo_client args = {};
	struct cryo_participant *p;
	int fd, err;

	err = cryo_copy_args(&args, sizeof(args), offsetofend(struct cryo_client, flags), arg);
	if (err)
		return err;
	if (args.flags & ~CRYO_CLIENT_FLAGS || args.reserved)
		return -EINVAL;
	p = participant_alloc(&args);
	if (IS_ERR(p))
		return PTR_ERR(p);
	fd = bind_new(p);
	if (!fd) {
		fd = anon_inode_getfd("[cryo-client]", &cryo_client_fops, p, O_RDWR | O_CLOEXEC);
		if (fd >= 0)
			return fd;
		unbind_handle(p);
	}
	cryo_participant_put(p);
	return fd;
}
