// SPDX-License-Identifier: GPL-2.0-only
/*
 * events.c - progress by generic netlink, for progress bars and schedulers
 *
 * Best effort: a request does not fail because nobody listens or memory is
 * short for a message.
 *
 * A multicast cannot be shown to some of those who listen: it takes CAP_SYS_ADMIN over the network
 * namespace to see who checkpoints whom. Others follow their own requests by CRYO_CKPT_STATUS.
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include <cryo/events.h>

#include "compat/genetlink.h"
#include "request/events.h"
#include "request/request.h"

static const struct genl_multicast_group cryo_groups[] = {
	{ .name = CRYO_GENL_GROUP, .flags = CRYO_GENL_ADMIN_ONLY },
};

static struct genl_family cryo_family = {
	.name = CRYO_GENL_NAME,
	.version = CRYO_GENL_VERSION,
	.maxattr = CRYO_EA_MAX,
	.module = THIS_MODULE,
	.mcgrps = cryo_groups,
	.n_mcgrps = CRYO_GENL_GROUPS,
	.netnsok = true,
};

int cryo_events_init(void)
{
	return genl_register_family(&cryo_family);
}

void cryo_events_exit(void)
{
	genl_unregister_family(&cryo_family);
}

static bool fill_event(struct sk_buff *skb, struct cryo_request *req)
{
	return !nla_put_u32(skb, CRYO_EA_TARGET, req->pid) &&
	       !nla_put_u32(skb, CRYO_EA_REQUESTER, task_tgid_vnr(current)) &&
	       !nla_put_u32(skb, CRYO_EA_STATE, req->state) &&
	       !nla_put_s32(skb, CRYO_EA_RESULT, req->result) &&
	       !nla_put_u64_64bit(skb, CRYO_EA_BYTES_DONE, atomic64_read(&req->written),
				  CRYO_EA_PAD) &&
	       !nla_put_u64_64bit(skb, CRYO_EA_BYTES_TOTAL, req->estimate, CRYO_EA_PAD);
}

static void send_event(struct cryo_request *req, u8 event)
{
	struct net *net = current->nsproxy ? current->nsproxy->net_ns : NULL;
	struct sk_buff *skb;
	void *head;

	if (!CRYO_GENL_GROUPS || !net || !genl_has_listeners(&cryo_family, net, 0))
		return;
	skb = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL_ACCOUNT);
	if (!skb)
		return;
	head = genlmsg_put(skb, 0, 0, &cryo_family, 0, event);
	if (!head || !fill_event(skb, req)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, head);
	genlmsg_multicast_netns(&cryo_family, net, skb, 0, 0, GFP_KERNEL);
}

void cryo_event_state(struct cryo_request *req)
{
	send_event(req, CRYO_EVENT_STATE);
}

void cryo_event_progress(struct cryo_request *req)
{
	if (time_before(jiffies, req->last_event + HZ / 10))
		return;
	req->last_event = jiffies;
	send_event(req, CRYO_EVENT_PROGRESS);
}
