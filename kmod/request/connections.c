// SPDX-License-Identifier: GPL-2.0-only
/* connections.c - see connections.h */
#include <linux/mm.h>
#include <linux/sched.h>
#include <net/sock.h>

#include "request/connections.h"
#include "request/request.h"

struct cryo_connection {
	struct sock *sk;		/* counted */
	unsigned long lingertime;	/* as the program has set it */
	bool lingers;
	bool changed;
};

static struct cryo_connection *first_of(struct cryo_request *req)
{
	return (struct cryo_connection *)req->connections.data;
}

static size_t count_of(struct cryo_request *req)
{
	return req->connections.len / sizeof(struct cryo_connection);
}

void cryo_connection_add(struct cryo_request *req, struct sock *sk)
{
	struct cryo_connection *c = cryo_buf_add(&req->connections, sizeof(*c));

	if (!c)
		return;
	*c = (struct cryo_connection){ .sk = sk };
	sock_hold(sk);
}

static void set_linger(struct sock *sk, bool lingers, unsigned long time)
{
	WRITE_ONCE(sk->sk_lingertime, time);
	sock_valbool_flag(sk, SOCK_LINGER, lingers);
}

void cryo_connections_abort(struct cryo_request *req)
{
	struct cryo_connection *c = first_of(req), *end = c + count_of(req);

	for (; c < end; c++) {
		cond_resched();
		spin_lock_bh(&c->sk->sk_lock.slock);
		if (!c->changed && !sock_owned_by_user(c->sk)) {
			c->lingers = sock_flag(c->sk, SOCK_LINGER);
			c->lingertime = c->sk->sk_lingertime;
			c->changed = true;
			set_linger(c->sk, true, 0);
		}
		spin_unlock_bh(&c->sk->sk_lock.slock);
	}
}

void cryo_connections_keep(struct cryo_request *req)
{
	struct cryo_connection *c = first_of(req), *end = c + count_of(req);

	for (; c < end; c++) {
		cond_resched();
		spin_lock_bh(&c->sk->sk_lock.slock);
		if (c->changed)
			set_linger(c->sk, c->lingers, c->lingertime);
		c->changed = false;
		spin_unlock_bh(&c->sk->sk_lock.slock);
	}
}

void cryo_connections_forget(struct cryo_request *req)
{
	struct cryo_connection *c = first_of(req), *end = c + count_of(req);

	for (; c < end; c++) {
		cond_resched();
		sock_put(c->sk);
	}
	cryo_buf_free(&req->connections);
}
