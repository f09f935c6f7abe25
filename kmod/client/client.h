/* SPDX-License-Identifier: GPL-2.0-only */
/* client.h - processes that take part in their own checkpoint */
#ifndef CRYO_CLIENT_CLIENT_H
#define CRYO_CLIENT_CLIENT_H

#include <linux/types.h>

struct cryo_held;
struct cryo_proc;
struct cryo_request;
struct pid;

/* client.c: the handle of a process that takes part in its own checkpoint */
long cryo_client_create(void __user *arg);

/* notify.c: before the freeze */
int cryo_notify(struct cryo_request *req);
void cryo_notify_end(struct cryo_request *req, int result);
bool cryo_notify_ends_later(struct cryo_proc *proc);
void cryo_notify_wait(struct cryo_request *req);
long cryo_get_verdict(struct cryo_request *req, void __user *arg);

/* hold.c: threads of a restarted process that wait until its callbacks are through */
struct cryo_held *cryo_held_alloc(void);
void cryo_held_start(struct cryo_held *h);
bool cryo_held_signal(struct pid *tgid, int signal);
void cryo_held_free(struct cryo_held *h);

#endif /* CRYO_CLIENT_CLIENT_H */
