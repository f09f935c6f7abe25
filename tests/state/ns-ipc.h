/* SPDX-License-Identifier: GPL-2.0-only */
/* ns-ipc.h - an ipc namespace of one's own: root has no need for one of users */
#ifndef NS_IPC_H
#define NS_IPC_H

#include "crtest.h"
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char ns_outer[64];

static inline void ns_name(char *buf, size_t size)
{
	memset(buf, 0, size);
	CRT_SYS(readlink("/proc/self/ns/ipc", buf, size - 1));
}

static inline bool ns_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return done;
}

/* With a queue that nobody has open. */
static inline void ns_enter(void)
{
	struct mq_attr attr = { .mq_maxmsg = 3, .mq_msgsize = 50 };
	mqd_t queue;

	ns_name(ns_outer, sizeof(ns_outer));
	if (getuid())
		crt_unshare_users(0);
	CRT_SYS(unshare(CLONE_NEWIPC));
	if (!getuid() && !ns_put("/proc/sys/kernel/msgmni", "77"))
		crt_diag("limits of an ipc namespace cannot be changed");
	queue = (mqd_t)CRT_SYS(mq_open("/closed", O_CREAT | O_EXCL | O_WRONLY, 0620, &attr));
	CRT_SYS(mq_send(queue, "waiting", 7, 4));
	CRT_SYS(mq_close(queue));
}

static inline void ns_verify(void)
{
	char text[64];
	unsigned int priority;
	struct mq_attr attr;
	mqd_t queue = mq_open("/closed", O_RDONLY | O_NONBLOCK);

	ns_name(text, sizeof(text));
	crt_ok(strcmp(text, ns_outer), "an ipc namespace of its own");
	crt_ok(queue >= 0 && !mq_getattr(queue, &attr) && attr.mq_maxmsg == 3 && attr.mq_msgsize == 50,
	       "a queue that nobody had open");
	crt_ok(mq_receive(queue, text, sizeof(text), &priority) == 7 && priority == 4 && !memcmp(text, "waiting", 7),
	       "its message");
	mq_close(queue);
	if (getuid())
		return;
	memset(text, 0, sizeof(text));
	crt_slurp("/proc/sys/kernel/msgmni", text, sizeof(text));
	crt_same_str(text, "77\n", "a limit");
}

#endif /* NS_IPC_H */
