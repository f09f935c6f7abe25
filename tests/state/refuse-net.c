// SPDX-License-Identifier: GPL-2.0-only
/* The same as refuse.c, for what a network namespace of the job has that a new one would lack. */
#define _GNU_SOURCE
#include "refuse-run.h"
#include <arpa/inet.h>
#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define WHERE "in a network namespace other than the requester's is not supported"

/* A message to the kernel (netlink(7)) that is being put together. */
struct message {
	char data[1024] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *h;
	size_t len;
};

static void begin(struct message *m, int type, int flags, const void *header, size_t size)
{
	m->h = (struct nlmsghdr *)(m->data + m->len);
	memset(m->h, 0, NLMSG_SPACE(size));
	m->h->nlmsg_len = (unsigned int)NLMSG_SPACE(size);
	m->h->nlmsg_type = (unsigned short)type;
	m->h->nlmsg_flags = (unsigned short)(NLM_F_REQUEST | flags);
	memcpy(NLMSG_DATA(m->h), header, size);
	m->len += NLMSG_SPACE(size);
}

static struct nlattr *add(struct message *m, int type, const void *data, size_t size)
{
	struct nlattr *a = (struct nlattr *)(m->data + m->len);

	memset(a, 0, NLA_ALIGN(NLA_HDRLEN + size));
	a->nla_type = (unsigned short)type;
	a->nla_len = (unsigned short)(NLA_HDRLEN + size);
	if (size)
		memcpy((char *)a + NLA_HDRLEN, data, size);
	m->len += NLA_ALIGN(a->nla_len);
	m->h->nlmsg_len = (unsigned int)(m->data + m->len - (char *)m->h);
	return a;
}

static void end_nest(struct message *m, struct nlattr *nest)
{
	nest->nla_len = (unsigned short)(m->data + m->len - (char *)nest);
}

/* Whether the kernel did as the message with NLM_F_ACK says. */
static bool send_message(const struct message *m, int protocol)
{
	union {
		struct nlmsghdr h;
		char data[4096];
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW, protocol);
	bool done = false;
	ssize_t n;

	if (fd < 0)
		return false;
	CRT_SYS(send(fd, m->data, m->len, 0));
	n = CRT_SYS(recv(fd, &answer, sizeof(answer), 0));
	if (n >= (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)) && answer.h.nlmsg_type == NLMSG_ERROR) {
		int error = ((struct nlmsgerr *)NLMSG_DATA(&answer.h))->error;

		done = !error;
		if (error)
			crt_diag("netlink: %s", strerror(-error));
	}
	close(fd);
	return done;
}

/* A network namespace of this process's own, its loopback device up. */
static bool unshared(void)
{
	static bool done;
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;

	if (done)
		return true;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	done = true;
	fd = (int)CRT_SYS(socket(AF_INET, SOCK_DGRAM, 0));
	CRT_SYS(ioctl(fd, SIOCSIFFLAGS, &lo));
	close(fd);
	return true;
}

static bool route(int family, const char *to, unsigned char bits)
{
	struct rtmsg header = {
		.rtm_family = (unsigned char)family,
		.rtm_dst_len = bits,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = RTPROT_BOOT,
		.rtm_scope = family == AF_INET ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE,
		.rtm_type = RTN_UNICAST,
	};
	struct message m = { .len = 0 };
	unsigned char address[16];
	unsigned int lo = 1;

	if (!unshared())
		return false;
	begin(&m, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_ACK, &header, sizeof(header));
	if (to) {
		CRT_SYS(inet_pton(family, to, address));
		add(&m, RTA_DST, address, family == AF_INET ? 4 : 16);
	}
	add(&m, RTA_OIF, &lo, sizeof(lo));
	return send_message(&m, NETLINK_ROUTE);
}

static bool make_route(void)
{
	if (!route(AF_INET, "10.1.0.0", 16))
		return false;
	crt_expect("pid %d|route to 10.1.0.0/16 " WHERE, getpid());
	return true;
}

static bool make_route6(void)
{
	if (!route(AF_INET6, "fd00:1::", 64))
		return false;
	crt_expect("pid %d|route to fd00:1::/64 " WHERE, getpid());
	return true;
}

static bool make_default_route(void)
{
	if (!route(AF_INET, NULL, 0))
		return false;
	crt_expect("pid %d|default route in a network namespace other than the requester's is not supported", getpid());
	return true;
}

static bool make_rule(void)
{
	struct fib_rule_hdr header = { .family = AF_INET, .table = RT_TABLE_MAIN, .action = FR_ACT_TO_TBL };
	struct message m = { .len = 0 };
	unsigned int priority = 4711;

	if (!unshared())
		return false;
	begin(&m, RTM_NEWRULE, NLM_F_CREATE | NLM_F_ACK, &header, sizeof(header));
	add(&m, FRA_PRIORITY, &priority, sizeof(priority));
	if (!send_message(&m, NETLINK_ROUTE))
		return false;
	crt_expect("pid %d|routing rule of priority 4711 " WHERE, getpid());
	return true;
}

static bool make_qdisc(void)
{
	struct tcmsg header = { .tcm_family = AF_UNSPEC, .tcm_ifindex = 1, .tcm_parent = TC_H_ROOT, .tcm_handle = 0x10000 };
	struct message m = { .len = 0 };

	if (!unshared())
		return false;
	begin(&m, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_ACK, &header, sizeof(header));
	add(&m, TCA_KIND, "pfifo", sizeof("pfifo"));
	if (!send_message(&m, NETLINK_ROUTE))
		return false;
	crt_expect("pid %d|queueing discipline pfifo " WHERE, getpid());
	return true;
}

static void begin_nft(struct message *m, int type, int flags)
{
	struct nfgenmsg header = { .nfgen_family = AF_INET, .version = NFNETLINK_V0 };

	begin(m, NFNL_SUBSYS_NFTABLES << 8 | type, flags, &header, sizeof(header));
}

static void mark_batch(struct message *m, int type)
{
	struct nfgenmsg header = { .nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = htons(NFNL_SUBSYS_NFTABLES) };

	begin(m, type, 0, &header, sizeof(header));
}

/* A table with a chain that sees what comes in. */
static bool make_filter(void)
{
	unsigned int hook = htonl(NF_INET_LOCAL_IN), priority = htonl(0);
	struct message m = { .len = 0 };
	struct nlattr *nest;

	if (!unshared())
		return false;
	mark_batch(&m, NFNL_MSG_BATCH_BEGIN);
	begin_nft(&m, NFT_MSG_NEWTABLE, NLM_F_CREATE);
	add(&m, NFTA_TABLE_NAME, "t", 2);
	begin_nft(&m, NFT_MSG_NEWCHAIN, NLM_F_CREATE | NLM_F_ACK);
	add(&m, NFTA_CHAIN_TABLE, "t", 2);
	add(&m, NFTA_CHAIN_NAME, "c", 2);
	nest = add(&m, NLA_F_NESTED | NFTA_CHAIN_HOOK, NULL, 0);
	add(&m, NFTA_HOOK_HOOKNUM, &hook, sizeof(hook));
	add(&m, NFTA_HOOK_PRIORITY, &priority, sizeof(priority));
	end_nest(&m, nest);
	add(&m, NFTA_CHAIN_TYPE, "filter", sizeof("filter"));
	mark_batch(&m, NFNL_MSG_BATCH_END);
	if (!send_message(&m, NETLINK_NETFILTER))
		return false;
	crt_expect("pid %d|packet filter (netfilter) of IPv4 " WHERE, getpid());
	return true;
}

struct obstacle obstacles[] = {
	{ .name = "route", .make = make_route },
	{ .name = "rule", .make = make_rule },
	{ .name = "qdisc", .make = make_qdisc },
	{ .name = "filter", .make = make_filter },
	{ .name = "route6", .make = make_route6, .alone = true },
	{ .name = "default-route", .make = make_default_route, .alone = true },
};

const unsigned int nr_obstacles = sizeof(obstacles) / sizeof(obstacles[0]);

const struct crt_test crt_test = {
	.text = "what a network namespace has and a new one would lack is refused by name",
	.setup = refuse_setup,
	.verify = refuse_verify,
	.flags = CRT_REFUSE,
	.cases = "route6 default-route",
};
