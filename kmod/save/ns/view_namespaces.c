// SPDX-License-Identifier: GPL-2.0-only
/* view_namespaces.c - what each kind of namespace holds, copied under a spinlock */
#include <linux/inetdevice.h>
#include <linux/ipc_namespace.h>
#include <linux/string.h>
#include <linux/time_namespace.h>
#include <linux/timekeeping.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/utsname.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/rtnetlink.h>

#include <cryo/format.h>
#include <cryo/ioctl.h>

#include "compat/ipc.h"
#include "compat/netdevice.h"
#include "save/ns/namespaces.h"

void cryo_view_uts(struct cryo_ns_view *v, const struct uts_namespace *ns)
{
	BUILD_BUG_ON(sizeof(v->uts.nodename) != sizeof(ns->name.nodename));
	strscpy((char *)v->uts.nodename, ns->name.nodename, sizeof(v->uts.nodename));
	strscpy((char *)v->uts.domainname, ns->name.domainname, sizeof(v->uts.domainname));
}

void cryo_view_ipc(struct cryo_ns_view *v, const struct ipc_namespace *ns)
{
	struct cryo_ns_ipc *out = &v->ipc;
	int i;

	out->shmmax = ns->shm_ctlmax;
	out->shmall = ns->shm_ctlall;
	out->shmmni = ns->shm_ctlmni;
	out->shm_rmid_forced = ns->shm_rmid_forced;
	for (i = 0; i < ARRAY_SIZE(out->sem); i++)
		out->sem[i] = ns->sem_ctls[i];
	out->msgmax = ns->msg_ctlmax;
	out->msgmnb = ns->msg_ctlmnb;
	out->msgmni = ns->msg_ctlmni;
	out->queues_max = ns->mq_queues_max;
	out->msg_max = ns->mq_msg_max;
	out->msgsize_max = ns->mq_msgsize_max;
	out->msg_default = ns->mq_msg_default;
	out->msgsize_default = ns->mq_msgsize_default;
	out->next_id[CRYO_IPC_KIND_SEM] = cryo_ipc_next(&ns->ids[CRYO_IPC_SEM]) + 1;
	out->next_id[CRYO_IPC_KIND_MSG] = cryo_ipc_next(&ns->ids[CRYO_IPC_MSG]) + 1;
	out->next_id[CRYO_IPC_KIND_SHM] = cryo_ipc_next(&ns->ids[CRYO_IPC_SHM]) + 1;
}

/* What the loopback device does not have as soon as it is up: one of them, as there may be many. */
static void look_for_addresses(struct cryo_ns_view *v, struct net_device *dev)
{
	const struct in_device *in = __in_dev_get_rcu(dev);
	const struct in_ifaddr *a4 = in ? rcu_dereference(in->ifa_list) : NULL;
#if IS_ENABLED(CONFIG_IPV6)
	struct inet6_dev *in6 = __in6_dev_get(dev);
	const struct inet6_ifaddr *a6;

	if (in6)
		list_for_each_entry_rcu(a6, &in6->addr_list, if_list)
			if (!ipv6_addr_loopback(&a6->addr)) {
				snprintf(v->address, sizeof(v->address), "%pI6c", &a6->addr);
				break;
			}
#endif
	for (; a4; a4 = rcu_dereference(a4->ifa_next))
		if (a4->ifa_local != htonl(INADDR_LOOPBACK) || a4->ifa_prefixlen != 8) {
			snprintf(v->address, sizeof(v->address), "%pI4/%u", &a4->ifa_local,
				 a4->ifa_prefixlen);
			break;
		}
}

/*
 * Each driver of tunnels makes one of these in every network namespace
 * (net.core.fb_tunnels_only_for_init_net), which nobody can move, nor remove: a new namespace has
 * it as well, or need not have it.
 */
static const struct fallback_tunnel {
	const char *name, *kind;
} fallback_tunnels[] = {
	{ "tunl0", "ipip" }, { "gre0", "gre" }, { "gretap0", "gretap" }, { "erspan0", "erspan" },
	{ "ip_vti0", "vti" }, { "sit0", "sit" }, { "ip6tnl0", "ip6tnl" }, { "ip6_vti0", "vti6" },
	{ "ip6gre0", "ip6gre" },
};

static bool is_fallback_tunnel(const struct net_device *dev)
{
	unsigned int i;

	if (!dev->rtnl_link_ops || !cryo_device_stays(dev))
		return false;
	for (i = 0; i < ARRAY_SIZE(fallback_tunnels); i++)
		if (!strcmp(dev->name, fallback_tunnels[i].name))
			return !strcmp(dev->rtnl_link_ops->kind, fallback_tunnels[i].kind);
	return false;
}

/* Down, without addresses, and no other device is on it. */
static bool is_idle(struct net_device *dev)
{
	const struct in_device *in = __in_dev_get_rcu(dev);
#if IS_ENABLED(CONFIG_IPV6)
	struct inet6_dev *in6 = __in6_dev_get(dev);

	if (in6 && !list_empty(&in6->addr_list))
		return false;
#endif
	return !(dev->flags & IFF_UP) && !(in && rcu_access_pointer(in->ifa_list)) &&
	       list_empty(&dev->adj_list.upper) && list_empty(&dev->adj_list.lower);
}

void cryo_view_net(struct cryo_ns_view *v, struct net *net)
{
	struct net_device *dev;

	rcu_read_lock();
	if (net->loopback_dev->flags & IFF_UP)
		v->net.flags |= CRYO_NET_LOOPBACK_UP;
	look_for_addresses(v, net->loopback_dev);
	for_each_netdev_rcu(net, dev) {
		if (dev == net->loopback_dev || (is_fallback_tunnel(dev) && is_idle(dev)))
			continue;
		strscpy(v->device, dev->name, sizeof(v->device));
		break;
	}
	rcu_read_unlock();
}

void cryo_view_time(struct cryo_ns_time *out, const struct time_namespace *ns)
{
	out->monotonic_ns = ktime_get_ns() + timespec64_to_ns(&ns->offsets.monotonic);
	out->boottime_ns = ktime_get_boottime_ns() + timespec64_to_ns(&ns->offsets.boottime);
}

static u32 nr_ranges(const struct uid_gid_map *map)
{
	u32 n = READ_ONCE(map->nr_extents);

	/* Pairs with the write barrier of map_write(): the ranges are there. */
	smp_rmb();
	return min_t(u32, n, CRYO_MAX_ID_RANGES);
}

static const struct uid_gid_extent *id_extent(const struct uid_gid_map *map, u32 n, u32 i)
{
	return n <= UID_GID_MAP_MAX_BASE_EXTENTS ? &map->extent[i] : &map->forward[i];
}

u32 cryo_uid_ranges(struct user_namespace *ns, struct cryo_id_range *out)
{
	u32 n = nr_ranges(&ns->uid_map), i;

	for (i = 0; i < n; i++) {
		const struct uid_gid_extent *e = id_extent(&ns->uid_map, n, i);

		out[i] = (struct cryo_id_range){
			.first = e->first,
			.lower_first = from_kuid(ns->parent, KUIDT_INIT(e->lower_first)),
			.count = e->count,
		};
	}
	return n;
}

u32 cryo_gid_ranges(struct user_namespace *ns, struct cryo_id_range *out)
{
	u32 n = nr_ranges(&ns->gid_map), i;

	for (i = 0; i < n; i++) {
		const struct uid_gid_extent *e = id_extent(&ns->gid_map, n, i);

		out[i] = (struct cryo_id_range){
			.first = e->first,
			.lower_first = from_kgid(ns->parent, KGIDT_INIT(e->lower_first)),
			.count = e->count,
		};
	}
	return n;
}
