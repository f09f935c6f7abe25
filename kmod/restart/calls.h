/* SPDX-License-Identifier: GPL-2.0-only */
/* calls.h - the calls of a restart */
#ifndef CRYO_RESTART_CALLS_H
#define CRYO_RESTART_CALLS_H

#include <linux/types.h>

struct cred;
struct file;
struct pid;
struct vm_area_struct;

/* The restarter: the process that made the handle, and its credentials then. */
struct cryo_restarter {
	struct pid *coordinator;
	const struct cred *cred;
};

/* restart.c: the handle of a restart */

/**
 * cryo_restart_create() - CRYO_IOC_RESTART
 * @arg: the argument of that call
 *
 * Return: a descriptor, or a negative errno.
 */
long cryo_restart_create(void __user *arg);

/* state.c: the states of a restart handle, and which calls are allowed in which, to whom */

/**
 * cryo_is_being_restarted() - is this the handle of a restart that has not come to its end?
 * @file: any file
 *
 * Return: true: it is.
 */
bool cryo_is_being_restarted(struct file *file);

/* timer_state.c: what of POSIX timers can be set by no call */
long cryo_restart_timer(void __user *arg);

/* epoll_disarm.c: disarmed EPOLLONESHOT registrations */
long cryo_restart_epoll_disarm(void __user *arg);

/* exit_signal.c: the signal that the parent gets when the caller exits */
long cryo_restart_signal(const struct cryo_restarter *by, void __user *arg);

/* sockets.c: what no call sets of a socket */
long cryo_restart_peer_pid(const struct cryo_restarter *by, void __user *arg);
long cryo_restart_datagram(void __user *arg);

/* ports.c: ports that connections of an earlier life keep */
long cryo_restart_port(void __user *arg);

/* unread_events.c: events of inotify(7) that had not been read */
long cryo_restart_inotify_event(const struct cred *maker, void __user *arg);

/* uring_state.c: rings of io_uring(7) */
long cryo_restart_uring(void __user *arg);
int cryo_restart_uring_mmap(struct vm_area_struct *vma);

/* exe.c: the executable that /proc/PID/exe names */
/*
 * Makes the caller's descriptor `fd` the executable of its memory; -EBADF, -EACCES: not of a file
 * that may be run.
 */
int cryo_restart_take_exe(const struct cred *maker, int fd);

/* pid_cursor.c: restart with the saved pids, as an ordinary user */

/**
 * cryo_pid_cursor() - CRYO_IOC_PID_CURSOR
 * @arg: the argument of that call
 *
 * Return: 0 or a negative errno.
 */
long cryo_pid_cursor(void __user *arg);

long cryo_restart_pid_cursor(struct pid *coordinator, void __user *arg);
long cryo_restart_outer_pid(struct pid *coordinator, void __user *arg);

#endif /* CRYO_RESTART_CALLS_H */
