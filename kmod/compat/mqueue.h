/* SPDX-License-Identifier: GPL-2.0-only */
/* ipc/mqueue.c: POSIX message queues. Private structures, the same in layout from v5.14 to v7.2. */
#ifndef CRYO_COMPAT_MQUEUE_H
#define CRYO_COMPAT_MQUEUE_H

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/msg.h>
#include <linux/pid.h>
#include <linux/rbtree.h>
#include <linux/signal.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <uapi/linux/mqueue.h>

#define CRYO_MQUEUE_MAGIC	0x19800202

/* struct posix_msg_tree_node: the messages of one priority */
struct cryo_mq_node {
	struct rb_node rb_node;
	struct list_head msg_list;
	int priority;
};

/* struct mqueue_inode_info; what follows is not looked at. */
struct cryo_mq_info {
	spinlock_t lock;
	struct inode vfs_inode;
	wait_queue_head_t wait_q;
	struct rb_root msg_tree;
	struct rb_node *msg_tree_rightmost;
	void *node_cache;
	struct mq_attr attr;
	struct sigevent notify;
	struct pid *notify_owner;
	u32 notify_self_exec_id;
	void *notify_user_ns;
	void *ucounts;
	void *notify_sock;
	void *notify_cookie;
	struct {
		void *task;
		struct list_head list;
		void *msg;
		int state;
	} e_wait_q[2];
	unsigned long qsize;
};

static inline struct cryo_mq_info *cryo_mq_info(struct inode *inode)
{
	return container_of(inode, struct cryo_mq_info, vfs_inode);
}

#endif
