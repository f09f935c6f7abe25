// SPDX-License-Identifier: GPL-2.0-only
/*
 * save_sock_filter.c - programs of classic BPF that sockets have: filters, and those that choose among
 * sockets with one port
 *
 * The kernel keeps them as they were given to setsockopt(2).  Of programs of bpf(2) it keeps nothing that could be given again.
 */
#include <linux/filter.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <net/sock.h>
#include <net/sock_reuseport.h>

#include "busy_lock.h"
#include "cryo.h"
#include "sock_filter.h"

#define EBPF_FILTER	"socket with an eBPF filter (SO_ATTACH_BPF)"
#define EBPF_CHOICE	"socket with an eBPF program that chooses among sockets (SO_ATTACH_REUSEPORT_EBPF)"

static const struct sock_fprog_kern *original_of(const struct bpf_prog *prog)
{
	const struct sock_fprog_kern *program = prog->orig_prog;

	return program && program->len && program->len <= BPF_MAXINSNS ? program : NULL;
}

/* In an RCU section. */
static const struct bpf_prog *filter_of(struct sock *sk)
{
	const struct sk_filter *filter = rcu_dereference(sk->sk_filter);

	return filter ? filter->prog : NULL;
}

/* In an RCU section.  Other processes may have sockets with the same port, and change it any time. */
static const struct bpf_prog *choice_of(struct sock *sk, u32 *place)
{
	const struct sock_reuseport *reuse = rcu_dereference(sk->sk_reuseport_cb);
	unsigned int i;

	*place = 0;
	if (!reuse)
		return NULL;
	for (i = 0; i < READ_ONCE(reuse->num_socks); i++)
		if (READ_ONCE(reuse->socks[i]) == sk)
			*place = i;
	return rcu_dereference(reuse->prog);
}

const char *cryo_sock_filter_obstacle(struct sock *sk)
{
	const struct bpf_prog *filter, *choice;
	const char *obstacle = NULL;
	u32 place;

	rcu_read_lock();
	filter = filter_of(sk);
	choice = choice_of(sk, &place);
	if (filter && !original_of(filter))
		obstacle = EBPF_FILTER;
	else if (choice && !original_of(choice))
		obstacle = EBPF_CHOICE;
	rcu_read_unlock();
	return obstacle;
}

/* Of a connection that nobody has accepted: it will have what its listening socket has. */
bool cryo_has_filter_of(struct sock *sk, struct sock *listener)
{
	return rcu_access_pointer(sk->sk_filter) == rcu_access_pointer(listener->sk_filter) &&
	       sock_flag(sk, SOCK_FILTER_LOCKED) == sock_flag(listener, SOCK_FILTER_LOCKED);
}

/* Its instructions are behind @at; -ESRCH: it is another one by now, and no classic one. */
static int copy_program(const struct bpf_prog *prog, u8 *at, u32 *length)
{
	const struct sock_fprog_kern *program;

	BUILD_BUG_ON(sizeof(*program->filter) != CRYO_SECCOMP_INSTRUCTION);
	*length = 0;
	if (!prog)
		return 0;
	program = original_of(prog);
	if (!program)
		return -ESRCH;
	*length = program->len;
	memcpy(at, program->filter, program->len * sizeof(*program->filter));
	return 0;
}

/* To the end of @out. Returns how many bytes there are. */
static int copy_programs(struct sock *sk, struct cryo_sock_filter *out)
{
	u8 *at = (u8 *)(out + 1);
	int err;

	rcu_read_lock();
	err = copy_program(filter_of(sk), at, &out->filter);
	at += out->filter * CRYO_SECCOMP_INSTRUCTION;
	err = err ?: copy_program(choice_of(sk, &out->place), at, &out->choice);
	at += out->choice * CRYO_SECCOMP_INSTRUCTION;
	rcu_read_unlock();
	if (sock_flag(sk, SOCK_FILTER_LOCKED))
		out->flags |= CRYO_SOCK_FILTER_LOCKED;
	if (!out->choice)
		out->place = 0;
	return err ?: at - (u8 *)out;
}

int cryo_save_sock_filter(struct cryo_capture *c, struct cryo_object *o)
{
	struct sock *sk = cryo_sock_of(o);
	struct cryo_sock_filter *out;
	int size;

	if (!rcu_access_pointer(sk->sk_filter) && !rcu_access_pointer(sk->sk_reuseport_cb) &&
	    !sock_flag(sk, SOCK_FILTER_LOCKED))
		return 0;
	out = kvzalloc(sizeof(*out) + 2 * BPF_MAXINSNS * CRYO_SECCOMP_INSTRUCTION,
		       GFP_KERNEL_ACCOUNT);
	if (!out)
		return -ENOMEM;
	size = copy_programs(sk, out);
	if (size < 0)
		cryo_refuse(c, "fd %d: %s is not supported", o->fd >= 0 ? o->fd : o->carrier,
			    cryo_sock_filter_obstacle(sk) ?: EBPF_FILTER);
	else if (size > sizeof(*out) || out->flags)
		size = cryo_stream_section(&c->stream, CRYO_SEC_SOCK_FILTER, o->id, sizeof(*out),
					   out, size);
	else
		size = 0;
	kvfree(out);
	return size == -ESRCH ? 0 : size;
}
