// SPDX-License-Identifier: GPL-2.0-only
/*
 * sock_filter.c - programs of classic BPF that sockets have: filters, and those that choose among
 * sockets with one port
 *
 * The kernel keeps them as they were given to setsockopt(2). Of programs of bpf(2) it keeps nothing
 * that could be given again.
 */
#include <linux/filter.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <net/sock.h>
#include <net/sock_reuseport.h>

#include <cryo/format.h>

#include "capture/busy_lock.h"
#include "capture/capture.h"
#include "compat/ksym.h"
#include "save/net.h"
#include "save/net/sock_filter.h"

#define EBPF_FILTER	"socket with an eBPF filter (SO_ATTACH_BPF)"
#define EBPF_CHOICE	"socket with an eBPF program that chooses among sockets (SO_ATTACH_REUSEPORT_EBPF)"
#define LOST_CHOICE	"socket with a reuseport program, on a kernel whose reuseport_lock cannot be found,"

/* How many instructions; 0: of bpf(2). */
static unsigned int length_of(const struct bpf_prog *prog)
{
	unsigned int length = prog->orig_prog ? READ_ONCE(prog->orig_prog->len) : 0;

	return length <= BPF_MAXINSNS ? length : 0;
}

/* In an RCU section. */
static const struct bpf_prog *filter_of(struct sock *sk)
{
	const struct sk_filter *filter = rcu_dereference(sk->sk_filter);

	return filter ? filter->prog : NULL;
}

/*
 * A program that chooses is freed without a grace period by kernels of before May 2026, and whoever
 * has a socket of the same port may replace it any time: in an RCU section, and with the lock under
 * which that is done.
 */
static const struct bpf_prog *choice_of(struct sock *sk, u32 *place)
{
	const struct sock_reuseport *reuse = rcu_dereference(sk->sk_reuseport_cb);
	const struct bpf_prog *prog = reuse ? rcu_dereference(reuse->prog) : NULL;
	unsigned int i;

	*place = 0;
	if (!prog)
		return NULL;
	for (i = 0; i < READ_ONCE(reuse->num_socks); i++)
		if (READ_ONCE(reuse->socks[i]) == sk)
			*place = i;
	return prog;
}

const char *cryo_sock_filter_obstacle(struct sock *sk)
{
	const struct bpf_prog *filter, *choice;
	const char *obstacle = NULL;
	u32 place;

	rcu_read_lock();
	spin_lock_bh(cryo_reuseport_lock());
	filter = filter_of(sk);
	choice = choice_of(sk, &place);
	if (filter && !length_of(filter))
		obstacle = EBPF_FILTER;
	else if (choice && !cryo_has_reuseport_lock())
		obstacle = LOST_CHOICE;
	else if (choice && !length_of(choice))
		obstacle = EBPF_CHOICE;
	spin_unlock_bh(cryo_reuseport_lock());
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
	unsigned int n = prog ? length_of(prog) : 0;

	BUILD_BUG_ON(sizeof(*prog->orig_prog->filter) != CRYO_SECCOMP_INSTRUCTION);
	*length = n;
	if (!prog)
		return 0;
	if (!n)
		return -ESRCH;
	memcpy(at, prog->orig_prog->filter, n * sizeof(*prog->orig_prog->filter));
	return 0;
}

/* To the end of @out. Returns how many bytes there are. */
static int copy_programs(struct sock *sk, struct cryo_sock_filter *out)
{
	u8 *at = (u8 *)(out + 1);
	const struct bpf_prog *choice;
	int err;

	rcu_read_lock();
	spin_lock_bh(cryo_reuseport_lock());
	err = copy_program(filter_of(sk), at, &out->filter);
	at += out->filter * CRYO_SECCOMP_INSTRUCTION;
	choice = choice_of(sk, &out->place);
	if (choice && !cryo_has_reuseport_lock())
		err = -ESRCH;
	err = err ?: copy_program(choice, at, &out->choice);
	at += out->choice * CRYO_SECCOMP_INSTRUCTION;
	spin_unlock_bh(cryo_reuseport_lock());
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
		cryo_refuse(c, o->proc, "fd %d: %s is not supported",
			    o->fd >= 0 ? o->fd : o->carrier,
			    cryo_sock_filter_obstacle(sk) ?: EBPF_FILTER);
	else if (size > sizeof(*out) || out->flags)
		size = cryo_stream_section(&c->stream, CRYO_SEC_SOCK_FILTER, o->id, sizeof(*out),
					   out, size);
	else
		size = 0;
	kvfree(out);
	return size == -ESRCH ? 0 : size;
}
