// SPDX-License-Identifier: GPL-2.0-only
/* POSIX message queues: messages and priorities, limits, flags, notification; without a name, too. */
#define _GNU_SOURCE
#include "crtest.h"
#ifdef IPC_NAMESPACE
#include "ns-ipc.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef IPC_FLAGS
#define IPC_FLAGS CRT_ONCE
#endif

static char name[64];
static mqd_t queue, writer, nameless, watched;
static volatile sig_atomic_t told, value;

static void on_message(int signal, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code == SI_MESGQ)
		told = signal;
	value = info->si_value.sival_int;
}

static mqd_t make(const char *path, long messages, long size)
{
	struct mq_attr attr = { .mq_maxmsg = messages, .mq_msgsize = size };

	return (mqd_t)CRT_SYS(mq_open(path, O_CREAT | O_EXCL | O_RDWR | O_NONBLOCK, 0640, &attr));
}

static void setup(void)
{
	struct sigaction action = { .sa_sigaction = on_message, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 4711 };
	char bytes[7000], other[80];

#ifdef IPC_NAMESPACE
	ns_enter();
#endif
	snprintf(name, sizeof(name), "/cryo-test-%d", getpid());
	queue = make(name, 8, 7000);
	writer = (mqd_t)CRT_SYS(mq_open(name, O_WRONLY));
	crt_fill(bytes, sizeof(bytes), 3);
	CRT_SYS(mq_send(writer, "low", 3, 1));
	CRT_SYS(mq_send(writer, bytes, sizeof(bytes), 9));
	CRT_SYS(mq_send(writer, "second low", 10, 1));
	CRT_SYS(mq_send(writer, "", 0, 32767));
	snprintf(other, sizeof(other), "%s-nameless", name);
	nameless = make(other, 2, 100);
	CRT_SYS(mq_unlink(other));
	CRT_SYS(mq_send(nameless, "nobody", 6, 0));
	snprintf(other, sizeof(other), "%s-watched", name);
	watched = make(other, 2, 100);
	CRT_SYS(mq_unlink(other));
	CRT_SYS(sigaction(SIGUSR1, &action, NULL));
	CRT_SYS(mq_notify(watched, &event));
}

static void verify(void)
{
	char bytes[7000];
	struct mq_attr attr;
	unsigned int priority;
	struct stat st, by_name;
	mqd_t again;

#ifdef IPC_NAMESPACE
	ns_verify();
#endif
	CRT_SYS(mq_getattr(queue, &attr));
	crt_same(attr.mq_maxmsg, 8, "how many messages it holds");
	crt_same(attr.mq_msgsize, 7000, "how large they are");
	crt_same(attr.mq_curmsgs, 4, "how many there are");
	crt_same(attr.mq_flags, O_NONBLOCK, "O_NONBLOCK");
	CRT_SYS(mq_getattr(writer, &attr));
	crt_same(attr.mq_flags, 0, "none at the other descriptor");
	CRT_SYS(fstat(queue, &st));
	crt_same(st.st_mode & 0777, 0640, "its mode");
	again = mq_open(name, O_RDONLY);
	crt_ok(again >= 0 && !fstat(again, &by_name) && by_name.st_ino == st.st_ino, "it is the one of that name");
	crt_ok(mq_receive(queue, bytes, sizeof(bytes), &priority) == 0 && priority == 32767, "an empty message");
	crt_ok(mq_receive(queue, bytes, sizeof(bytes), &priority) == 7000 && priority == 9, "a large one");
	crt_same(crt_bad(bytes, sizeof(bytes), 3), -1, "its bytes");
	crt_ok(mq_receive(queue, bytes, sizeof(bytes), &priority) == 3 && priority == 1, "a third one");
	crt_ok(mq_receive(queue, bytes, sizeof(bytes), &priority) == 10 && !memcmp(bytes, "second low", 10), "the last");
	crt_ok(mq_receive(queue, bytes, sizeof(bytes), &priority) == -1 && errno == EAGAIN, "and no more");
	crt_ok(mq_receive(writer, bytes, sizeof(bytes), &priority) == -1 && errno == EBADF, "one is for writing only");
	crt_ok(mq_receive(nameless, bytes, sizeof(bytes), &priority) == 6 && !memcmp(bytes, "nobody", 6),
	       "a message in a queue without a name");
	told = value = 0;
	CRT_SYS(mq_send(watched, "x", 1, 0));
	crt_same(told, SIGUSR1, "a message is told of");
	crt_same(value, 4711, "with the value asked for");
	mq_unlink(name);
}

const struct crt_test crt_test = {
	.text = "POSIX message queues",
	.setup = setup,
	.verify = verify,
	.flags = IPC_FLAGS,
};
