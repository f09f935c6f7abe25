// SPDX-License-Identifier: GPL-2.0-only
/*
 * participant.c - processes that take part in their own checkpoint, as a request finds them
 */
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/lockdep.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include <cryo/client.h>

#include "capture/capture.h"
#include "lib/in_use.h"
#include "request/participant.h"

DEFINE_SPINLOCK(cryo_participants_lock);

unsigned long cryo_registrations;

DEFINE_HASHTABLE(cryo_participants, 12);

static void participant_free(struct kref *ref)
{
	struct cryo_participant *p = container_of(ref, struct cryo_participant, ref);

	put_pid(p->owner);
	put_pid(p->helper);
	if (p->voter)
		put_cred(p->voter);
	cryo_client_user_uncharge(p->user);
	kvfree(p->source);
	kvfree(p->facts);
	xa_destroy(&p->held);
	kfree(p);
	cryo_use_end(CRYO_USE_PARTICIPANT);
}

void cryo_participant_put(struct cryo_participant *p)
{
	kref_put(&p->ref, participant_free);
}

struct cryo_participant *cryo_participant_find(struct pid *tgid, struct cryo_participant *p)
{
	u32 bucket = hash_min((unsigned long)tgid, HASH_BITS(cryo_participants));
	struct hlist_head *head = &cryo_participants[bucket];

	lockdep_assert_held(&cryo_participants_lock);
	p = hlist_entry_safe(p ? p->hash.next : head->first, struct cryo_participant, hash);
	while (p && p->owner != tgid)
		p = hlist_entry_safe(p->hash.next, struct cryo_participant, hash);
	return p;
}

static void forward_free(struct kref *ref)
{
	struct cryo_forward *f = container_of(ref, struct cryo_forward, ref);

	put_task_struct(f->task);
	put_pid(f->pid);
	put_cred(f->cred);
	kfree(f);
}

void cryo_forward_put(struct cryo_forward *f)
{
	kref_put(&f->ref, forward_free);
}

bool cryo_is_helper(struct cryo_proc *proc, struct task_struct *task)
{
	struct cryo_participant *p = NULL;
	bool helps = task == current;

	spin_lock(&cryo_participants_lock);
	while (!helps && (p = cryo_participant_find(proc->tgid, p)))
		helps = p->helper == task_pid(task);
	spin_unlock(&cryo_participants_lock);
	return helps;
}

bool cryo_is_client(struct file *file)
{
	return file->f_op == &cryo_client_fops;
}

u64 cryo_client_saved(struct file *file)
{
	struct cryo_participant *p = file->private_data;
	struct pid_namespace *ns = task_active_pid_ns(current);
	u64 saved;

	spin_lock(&cryo_participants_lock);
	saved = (u32)pid_nr_ns(p->owner, ns);
	if (p->state == CRYO_PART_VOTED && p->vote == CRYO_VOTE_READY && p->holds)
		saved |= (u64)(u32)pid_nr_ns(p->helper, ns) << 32;
	spin_unlock(&cryo_participants_lock);
	return saved;
}
