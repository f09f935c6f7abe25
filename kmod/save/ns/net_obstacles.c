// SPDX-License-Identifier: GPL-2.0-only
/*
 * net_obstacles.c - what a network namespace of the job has been given and a new one would lack:
 * routes, rules of routing, queueing disciplines, packet filters
 *
 * All but the filters are asked for as any program does (rtnetlink(7)), by a socket in that
 * namespace.
 */
#include <linux/fib_rules.h>
#include <linux/inet.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/netlink.h>

#include "capture/capture.h"
#include "save/ns/namespaces.h"

/* More than the kernel ever puts into one answer to a reader with as much room. */
#define ANSWER_SIZE (32 << 10)

struct netlink_listing {
	int type;		/* RTM_GET... */
	unsigned int header;	/* size of what comes before the attributes */
	/* Refuses what a new namespace does not have; true: it did. */
	bool (*look)(struct cryo_capture *c, struct cryo_proc *p, const struct nlmsghdr *h);
};

static const struct nlattr *find_attribute(const struct nlmsghdr *h, unsigned int header, int type)
{
	return nlmsg_find_attr(h, header, type);
}

/* Those of addresses are the kernel's own. */
static bool look_at_route(struct cryo_capture *c, struct cryo_proc *p, const struct nlmsghdr *h)
{
	const struct rtmsg *route = nlmsg_data(h);
	const struct nlattr *to = find_attribute(h, sizeof(*route), RTA_DST);

	if (route->rtm_protocol == RTPROT_KERNEL || (route->rtm_flags & RTM_F_CLONED))
		return false;
	if (to && route->rtm_family == AF_INET && nla_len(to) == sizeof(struct in_addr))
		cryo_refuse(c, p, "route to %pI4/%u in a network namespace other than the requester's is not supported",
			    nla_data(to), route->rtm_dst_len);
	else if (to && route->rtm_family == AF_INET6 && nla_len(to) == sizeof(struct in6_addr))
		cryo_refuse(c, p, "route to %pI6c/%u in a network namespace other than the requester's is not supported",
			    nla_data(to), route->rtm_dst_len);
	else
		cryo_refuse(c, p, "default route in a network namespace other than the requester's is not supported");
	return true;
}

static bool look_at_rule(struct cryo_capture *c, struct cryo_proc *p, const struct nlmsghdr *h)
{
	const struct nlattr *protocol = find_attribute(h, sizeof(struct fib_rule_hdr),
						       FRA_PROTOCOL);
	const struct nlattr *priority = find_attribute(h, sizeof(struct fib_rule_hdr),
						       FRA_PRIORITY);

	if (protocol && nla_len(protocol) && nla_get_u8(protocol) == RTPROT_KERNEL)
		return false;
	cryo_refuse(c, p, "routing rule of priority %u in a network namespace other than the requester's is not supported",
		    priority && nla_len(priority) == sizeof(u32) ? nla_get_u32(priority) : 0);
	return true;
}

/* One that nobody has set has no handle. */
static bool look_at_qdisc(struct cryo_capture *c, struct cryo_proc *p, const struct nlmsghdr *h)
{
	const struct tcmsg *qdisc = nlmsg_data(h);
	const struct nlattr *kind = find_attribute(h, sizeof(*qdisc), TCA_KIND);
	char name[IFNAMSIZ] = "";

	if (!qdisc->tcm_handle)
		return false;
	if (kind)
		nla_strscpy(name, kind, sizeof(name));
	cryo_refuse(c, p, "queueing discipline %s in a network namespace other than the requester's is not supported",
		    name);
	return true;
}

static const struct netlink_listing listings[] = {
	{ RTM_GETROUTE, sizeof(struct rtmsg), look_at_route },
	{ RTM_GETRULE, sizeof(struct fib_rule_hdr), look_at_rule },
	{ RTM_GETQDISC, sizeof(struct tcmsg), look_at_qdisc },
};

static int ask_listing(struct socket *sock, const struct netlink_listing *l)
{
	struct {
		struct nlmsghdr h;
		union {
			struct rtmsg route;
			struct fib_rule_hdr rule;
			struct tcmsg qdisc;
		};
	} question = {
		.h.nlmsg_len = NLMSG_LENGTH(l->header),
		.h.nlmsg_type = l->type,
		.h.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
	};
	struct kvec vec = { &question, question.h.nlmsg_len };
	struct msghdr msg = {};
	int n = kernel_sendmsg(sock, &msg, &vec, 1, vec.iov_len);

	return min(n, 0);
}

/* 1: that was all; 0: there is more. */
static int look_at_answer(struct cryo_capture *c, struct cryo_proc *p,
			  const struct netlink_listing *l, const struct nlmsghdr *h, int len)
{
	for (; nlmsg_ok(h, len); h = nlmsg_next(h, &len)) {
		if (h->nlmsg_type == NLMSG_DONE)
			return 1;
		if (h->nlmsg_type == NLMSG_ERROR)
			return nlmsg_len(h) >= sizeof(struct nlmsgerr) ?
			       ((struct nlmsgerr *)nlmsg_data(h))->error : -EPROTO;
		if (nlmsg_len(h) < l->header)
			return -EPROTO;
		if (l->look(c, p, h))
			return 1;
	}
	return 0;
}

/* To its end, or to the first that is in the way. */
static int look_at_listing(struct cryo_capture *c, struct cryo_proc *p, struct net *net,
			   const struct netlink_listing *l, void *answer)
{
	struct socket *sock;
	int err = sock_create_kern(net, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, &sock);

	if (err)
		return err;
	err = ask_listing(sock, l);
	while (!err) {
		struct kvec vec = { answer, ANSWER_SIZE };
		struct msghdr msg = {};
		int n = kernel_recvmsg(sock, &msg, &vec, 1, ANSWER_SIZE, MSG_DONTWAIT);

		if (n < 0)
			err = n;
		else if (!n || (msg.msg_flags & MSG_TRUNC))
			err = -EPROTO;
		else if (fatal_signal_pending(current))
			err = -EINTR;
		else
			err = look_at_answer(c, p, l, answer, n);
	}
	sock_release(sock);
	return min(err, 0);
}

#ifdef CONFIG_NETFILTER
/* Those of rules have something of their own; those of modules that only watch have not. */
static bool has_rules(const struct nf_hook_entries __rcu *const *hooks, unsigned int nr)
{
	unsigned int i, j;

	for (i = 0; i < nr; i++) {
		const struct nf_hook_entries *e = rcu_dereference(hooks[i]);

		for (j = 0; e && j < e->num_hook_entries; j++)
			if (e->hooks[j].priv)
				return true;
	}
	return false;
}

static bool device_has_rules(struct net *net)
{
	struct net_device *dev;
	bool found = false;

	for_each_netdev_rcu(net, dev) {
#ifdef CONFIG_NETFILTER_INGRESS
		found |= has_rules((void *)&dev->nf_hooks_ingress, 1);
#endif
#ifdef CONFIG_NETFILTER_EGRESS
		found |= has_rules((void *)&dev->nf_hooks_egress, 1);
#endif
	}
	return found;
}

static const char *what_is_filtered(struct net *net)
{
	if (has_rules((void *)net->nf.hooks_ipv4, ARRAY_SIZE(net->nf.hooks_ipv4)))
		return "IPv4";
	if (has_rules((void *)net->nf.hooks_ipv6, ARRAY_SIZE(net->nf.hooks_ipv6)))
		return "IPv6";
#ifdef CONFIG_NETFILTER_FAMILY_ARP
	if (has_rules((void *)net->nf.hooks_arp, ARRAY_SIZE(net->nf.hooks_arp)))
		return "ARP";
#endif
	return device_has_rules(net) ? "network devices" : NULL;
}

static void look_for_filters(struct cryo_capture *c, struct cryo_proc *p, struct net *net)
{
	const char *what;

	rcu_read_lock();
	what = what_is_filtered(net);
	rcu_read_unlock();
	if (what)
		cryo_refuse(c, p, "packet filter (netfilter) of %s in a network namespace other than the requester's is not supported",
			    what);
}
#else
static void look_for_filters(struct cryo_capture *c, struct cryo_proc *p, struct net *net)
{
}
#endif

int cryo_check_net(struct cryo_capture *c, struct cryo_proc *p, struct net *net)
{
	void *answer = kvmalloc(ANSWER_SIZE, GFP_KERNEL_ACCOUNT);
	int err = answer ? 0 : -ENOMEM;
	unsigned int i;

	for (i = 0; !err && i < ARRAY_SIZE(listings); i++) {
		err = look_at_listing(c, p, net, &listings[i], answer);
		/* A kernel without it. */
		if (err == -EOPNOTSUPP)
			err = 0;
	}
	kvfree(answer);
	if (err)
		err = cryo_refuse_uninspectable(c, p, "network namespace", err);
	look_for_filters(c, p, net);
	return err;
}
