/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fs/eventpoll.c: fdinfo tells of a registration the descriptor number of that time, but neither
 * which open file that was nor whether the target has been reported. Registrations are in a tree of
 * their epoll and in a list of their target, in entries that have had these members, at these
 * offsets, from v5.11 (319c15174757) to 7.2 at least; @dying came in v6.4 into a hole.
 */
#ifndef CRYO_COMPAT_EVENTPOLL_H
#define CRYO_COMPAT_EVENTPOLL_H

#include <linux/eventpoll.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

/* Those bits of a disarmed EPOLLONESHOT registration that stay. */
#define CRYO_EPOLL_STAYS	(EPOLLWAKEUP | EPOLLONESHOT | EPOLLET | EPOLLEXCLUSIVE)

struct cryo_epitem {
	struct rb_node rbn;
	struct list_head rdllink;
	void *ovflist_next;
	struct {
		struct file *file;
		int fd;
	} __packed ffd;
	bool dying;
	void *pwqlist;
	void *ep;
	struct hlist_node fllink;
	void *ws;
	struct epoll_event event;
};

/*
 * Up to its registrations, for which @mtx is held. @lock has been a lock for readers and writers,
 * and has had a sequence counter behind it: all of that has the size of this one and the hole
 * behind it, but with lockdep.
 */
struct cryo_eventpoll {
	struct mutex mtx;
	wait_queue_head_t wq;
	wait_queue_head_t poll_wait;
	struct list_head rdllist;
	spinlock_t lock;
	struct rb_root_cached rbr;
};

/*
 * What @epoll watches @target for under the number @fd, NULL if it does not. With @target->f_lock.
 */
static inline struct cryo_epitem *cryo_epitem_of(struct file *epoll, struct file *target, int fd)
{
	struct cryo_epitem *epi;

	if (!target->f_ep)
		return NULL;
	hlist_for_each_entry(epi, target->f_ep, fllink)
		if (epi->ep == epoll->private_data && epi->ffd.file == target &&
		    epi->ffd.fd == fd)
			return epi;
	return NULL;
}

#endif
