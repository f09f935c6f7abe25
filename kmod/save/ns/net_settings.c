// SPDX-License-Identifier: GPL-2.0-only
/*
 * net_settings.c - settings of a network namespace, those below /proc/sys/net that programs and
 * containers are given
 *
 * The files show the settings of the namespace of their reader, which is the requester's; so they
 * are read where they are. A line for each: the file's name, and what can be written to it.
 */
#include <linux/inetdevice.h>
#include <linux/ipv6.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/seqlock.h>
#include <linux/string.h>
#include <linux/uidgid.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

#include "save/ns/namespaces.h"

static __printf(2, 3) void add_setting(struct cryo_ns_view *v, const char *format, ...)
{
	size_t room = sizeof(v->settings) - v->settings_len, n;
	va_list args;

	va_start(args, format);
	n = vsnprintf(v->settings + v->settings_len, room, format, args);
	va_end(args);
	if (n < room)
		v->settings_len += n;
	else
		v->settings_cut = true;
}

static void add_one(struct cryo_ns_view *v, const char *name, s64 value)
{
	add_setting(v, "%s %lld\n", name, value);
}

static void add_three(struct cryo_ns_view *v, const char *name, const int *values)
{
	add_setting(v, "%s %d %d %d\n", name, READ_ONCE(values[0]), READ_ONCE(values[1]),
		    READ_ONCE(values[2]));
}

static void add_ip(struct cryo_ns_view *v, const struct netns_ipv4 *ip)
{
	add_one(v, "ipv4/ip_unprivileged_port_start", READ_ONCE(ip->sysctl_ip_prot_sock));
	add_one(v, "ipv4/ip_nonlocal_bind", READ_ONCE(ip->sysctl_ip_nonlocal_bind));
	add_one(v, "ipv4/ip_default_ttl", READ_ONCE(ip->sysctl_ip_default_ttl));
	add_one(v, "ipv4/icmp_echo_ignore_all", READ_ONCE(ip->sysctl_icmp_echo_ignore_all));
	add_one(v, "ipv4/udp_rmem_min", READ_ONCE(ip->sysctl_udp_rmem_min));
	add_one(v, "ipv4/ip_forward", IPV4_DEVCONF(*ip->devconf_all, FORWARDING));
}

static void add_tcp(struct cryo_ns_view *v, const struct netns_ipv4 *ip)
{
	add_one(v, "ipv4/tcp_keepalive_time", READ_ONCE(ip->sysctl_tcp_keepalive_time) / HZ);
	add_one(v, "ipv4/tcp_keepalive_intvl", READ_ONCE(ip->sysctl_tcp_keepalive_intvl) / HZ);
	add_one(v, "ipv4/tcp_keepalive_probes", READ_ONCE(ip->sysctl_tcp_keepalive_probes));
	add_one(v, "ipv4/tcp_fin_timeout", READ_ONCE(ip->sysctl_tcp_fin_timeout) / HZ);
	add_one(v, "ipv4/tcp_tw_reuse", READ_ONCE(ip->sysctl_tcp_tw_reuse));
	add_one(v, "ipv4/tcp_syncookies", READ_ONCE(ip->sysctl_tcp_syncookies));
	add_one(v, "ipv4/tcp_syn_retries", READ_ONCE(ip->sysctl_tcp_syn_retries));
	add_one(v, "ipv4/tcp_retries2", READ_ONCE(ip->sysctl_tcp_retries2));
	add_one(v, "ipv4/tcp_fastopen", READ_ONCE(ip->sysctl_tcp_fastopen));
	add_one(v, "ipv4/tcp_ecn", READ_ONCE(ip->sysctl_tcp_ecn));
	add_one(v, "ipv4/tcp_mtu_probing", READ_ONCE(ip->sysctl_tcp_mtu_probing));
	add_one(v, "ipv4/tcp_abort_on_overflow", READ_ONCE(ip->sysctl_tcp_abort_on_overflow));
	add_one(v, "ipv4/tcp_slow_start_after_idle",
		READ_ONCE(ip->sysctl_tcp_slow_start_after_idle));
	add_one(v, "ipv4/tcp_notsent_lowat", READ_ONCE(ip->sysctl_tcp_notsent_lowat));
	add_three(v, "ipv4/tcp_rmem", ip->sysctl_tcp_rmem);
	add_three(v, "ipv4/tcp_wmem", ip->sysctl_tcp_wmem);
}

/* What an administrator, or a container, has tuned. */
static void add_more_of_ip(struct cryo_ns_view *v, const struct netns_ipv4 *ip)
{
	add_one(v, "ipv4/fwmark_reflect", READ_ONCE(ip->sysctl_fwmark_reflect));
	add_one(v, "ipv4/icmp_echo_ignore_broadcasts",
		READ_ONCE(ip->sysctl_icmp_echo_ignore_broadcasts));
	add_one(v, "ipv4/icmp_errors_use_inbound_ifaddr",
		READ_ONCE(ip->sysctl_icmp_errors_use_inbound_ifaddr));
	add_one(v, "ipv4/icmp_ignore_bogus_error_responses",
		READ_ONCE(ip->sysctl_icmp_ignore_bogus_error_responses));
	add_one(v, "ipv4/ip_autobind_reuse", READ_ONCE(ip->sysctl_ip_autobind_reuse));
	add_one(v, "ipv4/ip_dynaddr", READ_ONCE(ip->sysctl_ip_dynaddr));
	add_one(v, "ipv4/ip_early_demux", READ_ONCE(ip->sysctl_ip_early_demux));
	add_one(v, "ipv4/ip_forward_use_pmtu", READ_ONCE(ip->sysctl_ip_fwd_use_pmtu));
	add_one(v, "ipv4/ip_no_pmtu_disc", READ_ONCE(ip->sysctl_ip_no_pmtu_disc));
	add_one(v, "ipv4/udp_early_demux", READ_ONCE(ip->sysctl_udp_early_demux));
	add_one(v, "ipv4/udp_wmem_min", READ_ONCE(ip->sysctl_udp_wmem_min));
#ifdef CONFIG_IP_MULTICAST
	add_one(v, "ipv4/igmp_max_memberships", READ_ONCE(ip->sysctl_igmp_max_memberships));
	add_one(v, "ipv4/igmp_max_msf", READ_ONCE(ip->sysctl_igmp_max_msf));
#endif
}

static void add_more_of_tcp(struct cryo_ns_view *v, const struct netns_ipv4 *ip)
{
	add_one(v, "ipv4/tcp_adv_win_scale", READ_ONCE(ip->sysctl_tcp_adv_win_scale));
	add_one(v, "ipv4/tcp_autocorking", READ_ONCE(ip->sysctl_tcp_autocorking));
	add_one(v, "ipv4/tcp_base_mss", READ_ONCE(ip->sysctl_tcp_base_mss));
	add_one(v, "ipv4/tcp_dsack", READ_ONCE(ip->sysctl_tcp_dsack));
	add_one(v, "ipv4/tcp_early_demux", READ_ONCE(ip->sysctl_tcp_early_demux));
	add_one(v, "ipv4/tcp_early_retrans", READ_ONCE(ip->sysctl_tcp_early_retrans));
	add_one(v, "ipv4/tcp_ecn_fallback", READ_ONCE(ip->sysctl_tcp_ecn_fallback));
	add_one(v, "ipv4/tcp_frto", READ_ONCE(ip->sysctl_tcp_frto));
	add_one(v, "ipv4/tcp_limit_output_bytes", READ_ONCE(ip->sysctl_tcp_limit_output_bytes));
	add_one(v, "ipv4/tcp_max_syn_backlog", READ_ONCE(ip->sysctl_max_syn_backlog));
	add_one(v, "ipv4/tcp_max_tw_buckets", READ_ONCE(ip->tcp_death_row.sysctl_max_tw_buckets));
	add_one(v, "ipv4/tcp_min_snd_mss", READ_ONCE(ip->sysctl_tcp_min_snd_mss));
	add_one(v, "ipv4/tcp_moderate_rcvbuf", READ_ONCE(ip->sysctl_tcp_moderate_rcvbuf));
	add_one(v, "ipv4/tcp_no_metrics_save", READ_ONCE(ip->sysctl_tcp_nometrics_save));
	add_one(v, "ipv4/tcp_orphan_retries", READ_ONCE(ip->sysctl_tcp_orphan_retries));
	add_one(v, "ipv4/tcp_recovery", READ_ONCE(ip->sysctl_tcp_recovery));
	add_one(v, "ipv4/tcp_retries1", READ_ONCE(ip->sysctl_tcp_retries1));
	add_one(v, "ipv4/tcp_rfc1337", READ_ONCE(ip->sysctl_tcp_rfc1337));
	add_one(v, "ipv4/tcp_sack", READ_ONCE(ip->sysctl_tcp_sack));
	add_one(v, "ipv4/tcp_stdurg", READ_ONCE(ip->sysctl_tcp_stdurg));
	add_one(v, "ipv4/tcp_synack_retries", READ_ONCE(ip->sysctl_tcp_synack_retries));
	add_one(v, "ipv4/tcp_thin_linear_timeouts", READ_ONCE(ip->sysctl_tcp_thin_linear_timeouts));
	add_one(v, "ipv4/tcp_timestamps", READ_ONCE(ip->sysctl_tcp_timestamps));
	add_one(v, "ipv4/tcp_window_scaling", READ_ONCE(ip->sysctl_tcp_window_scaling));
}

/*
 * By the numbers that they have in the user namespace which owns it, where they will be written;
 * without these, nobody there could have set them.
 */
static void add_ping_groups(struct cryo_ns_view *v, struct net *net)
{
	const struct ping_group_range *groups = &net->ipv4.ping_group_range;
	kgid_t low, high;
	unsigned int seq;

	do {
		seq = read_seqbegin(&groups->lock);
		low = groups->range[0];
		high = groups->range[1];
	} while (read_seqretry(&groups->lock, seq));
	/* The first above the last is the kernel's own way to say that there are none. */
	if (gid_lte(low, high) && kgid_has_mapping(net->user_ns, low) &&
	    kgid_has_mapping(net->user_ns, high))
		add_setting(v, "ipv4/ping_group_range %u %u\n", from_kgid(net->user_ns, low),
			    from_kgid(net->user_ns, high));
}

/* ---- those below conf/: of all devices, of those to come, and of the loopback device ---- */

struct device_setting {
	const char *name;
	unsigned int id;	/* IPV4_DEVCONF_*; of IPv6 its offset */
};

static const struct device_setting settings4[] = {
	{ "accept_local", IPV4_DEVCONF_ACCEPT_LOCAL },
	{ "accept_redirects", IPV4_DEVCONF_ACCEPT_REDIRECTS },
	{ "accept_source_route", IPV4_DEVCONF_ACCEPT_SOURCE_ROUTE },
	{ "arp_accept", IPV4_DEVCONF_ARP_ACCEPT },
	{ "arp_announce", IPV4_DEVCONF_ARP_ANNOUNCE },
	{ "arp_evict_nocarrier", IPV4_DEVCONF_ARP_EVICT_NOCARRIER },
	{ "arp_filter", IPV4_DEVCONF_ARPFILTER },
	{ "arp_ignore", IPV4_DEVCONF_ARP_IGNORE },
	{ "arp_notify", IPV4_DEVCONF_ARP_NOTIFY },
	{ "bc_forwarding", IPV4_DEVCONF_BC_FORWARDING },
	{ "bootp_relay", IPV4_DEVCONF_BOOTP_RELAY },
	{ "disable_policy", IPV4_DEVCONF_NOPOLICY },
	{ "disable_xfrm", IPV4_DEVCONF_NOXFRM },
	{ "drop_gratuitous_arp", IPV4_DEVCONF_DROP_GRATUITOUS_ARP },
	{ "drop_unicast_in_l2_multicast", IPV4_DEVCONF_DROP_UNICAST_IN_L2_MULTICAST },
	{ "force_igmp_version", IPV4_DEVCONF_FORCE_IGMP_VERSION },
	{ "forwarding", IPV4_DEVCONF_FORWARDING },
	{ "igmpv2_unsolicited_report_interval", IPV4_DEVCONF_IGMPV2_UNSOLICITED_REPORT_INTERVAL },
	{ "igmpv3_unsolicited_report_interval", IPV4_DEVCONF_IGMPV3_UNSOLICITED_REPORT_INTERVAL },
	{ "ignore_routes_with_linkdown", IPV4_DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN },
	{ "log_martians", IPV4_DEVCONF_LOG_MARTIANS },
	{ "medium_id", IPV4_DEVCONF_MEDIUM_ID },
	{ "promote_secondaries", IPV4_DEVCONF_PROMOTE_SECONDARIES },
	{ "proxy_arp", IPV4_DEVCONF_PROXY_ARP },
	{ "proxy_arp_pvlan", IPV4_DEVCONF_PROXY_ARP_PVLAN },
	{ "route_localnet", IPV4_DEVCONF_ROUTE_LOCALNET },
	{ "rp_filter", IPV4_DEVCONF_RP_FILTER },
	{ "secure_redirects", IPV4_DEVCONF_SECURE_REDIRECTS },
	{ "send_redirects", IPV4_DEVCONF_SEND_REDIRECTS },
	{ "shared_media", IPV4_DEVCONF_SHARED_MEDIA },
	{ "src_valid_mark", IPV4_DEVCONF_SRC_VMARK },
	{ "tag", IPV4_DEVCONF_TAG },
};

static void add_devices4(struct cryo_ns_view *v, const char *whose, const struct ipv4_devconf *conf)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(settings4); i++)
		add_setting(v, "ipv4/conf/%s/%s %d\n", whose, settings4[i].name,
			    READ_ONCE(conf->data[settings4[i].id - 1]));
}

/* What is written for all or for those to come may change the others: these come last. */
static void add_ip_devices(struct cryo_ns_view *v, struct net *net)
{
	const struct in_device *lo;

	add_devices4(v, "all", net->ipv4.devconf_all);
	add_devices4(v, "default", net->ipv4.devconf_dflt);
	rcu_read_lock();
	lo = __in_dev_get_rcu(net->loopback_dev);
	if (lo)
		add_devices4(v, "lo", &lo->cnf);
	rcu_read_unlock();
}

#if IS_ENABLED(CONFIG_IPV6)
#define SETTING6(name, field)	{ name, offsetof(struct ipv6_devconf, field) }

static const struct device_setting settings6[] = {
	SETTING6("accept_dad", accept_dad),
	SETTING6("accept_ra", accept_ra),
	SETTING6("accept_ra_defrtr", accept_ra_defrtr),
	SETTING6("accept_ra_from_local", accept_ra_from_local),
	SETTING6("accept_ra_min_hop_limit", accept_ra_min_hop_limit),
	SETTING6("accept_ra_mtu", accept_ra_mtu),
	SETTING6("accept_ra_pinfo", accept_ra_pinfo),
	SETTING6("accept_redirects", accept_redirects),
	SETTING6("accept_source_route", accept_source_route),
	SETTING6("autoconf", autoconf),
	SETTING6("dad_transmits", dad_transmits),
	SETTING6("disable_ipv6", disable_ipv6),
	SETTING6("disable_policy", disable_policy),
	SETTING6("drop_unicast_in_l2_multicast", drop_unicast_in_l2_multicast),
	SETTING6("drop_unsolicited_na", drop_unsolicited_na),
	SETTING6("force_mld_version", force_mld_version),
	SETTING6("force_tllao", force_tllao),
	SETTING6("forwarding", forwarding),
	SETTING6("hop_limit", hop_limit),
	SETTING6("ignore_routes_with_linkdown", ignore_routes_with_linkdown),
	SETTING6("keep_addr_on_down", keep_addr_on_down),
	SETTING6("max_addresses", max_addresses),
	SETTING6("max_desync_factor", max_desync_factor),
	SETTING6("ndisc_notify", ndisc_notify),
	SETTING6("proxy_ndp", proxy_ndp),
	SETTING6("regen_max_retry", regen_max_retry),
	SETTING6("router_solicitations", rtr_solicits),
	SETTING6("suppress_frag_ndisc", suppress_frag_ndisc),
	SETTING6("temp_prefered_lft", temp_prefered_lft),
	SETTING6("temp_valid_lft", temp_valid_lft),
	SETTING6("use_oif_addrs_only", use_oif_addrs_only),
	SETTING6("use_tempaddr", use_tempaddr),
	SETTING6("mtu", mtu6),
#ifdef CONFIG_IPV6_ROUTER_PREF
	SETTING6("accept_ra_rtr_pref", accept_ra_rtr_pref),
#ifdef CONFIG_IPV6_ROUTE_INFO
	SETTING6("accept_ra_rt_info_min_plen", accept_ra_rt_info_min_plen),
	SETTING6("accept_ra_rt_info_max_plen", accept_ra_rt_info_max_plen),
#endif
#endif
#ifdef CONFIG_IPV6_OPTIMISTIC_DAD
	SETTING6("optimistic_dad", optimistic_dad),
	SETTING6("use_optimistic", use_optimistic),
#endif
};

static void add_times6(struct cryo_ns_view *v, const char *whose, const struct ipv6_devconf *conf)
{
	add_setting(v, "ipv6/conf/%s/router_solicitation_delay %d\n", whose,
		    READ_ONCE(conf->rtr_solicit_delay) / HZ);
	add_setting(v, "ipv6/conf/%s/router_solicitation_interval %d\n", whose,
		    READ_ONCE(conf->rtr_solicit_interval) / HZ);
	add_setting(v, "ipv6/conf/%s/router_solicitation_max_interval %d\n", whose,
		    READ_ONCE(conf->rtr_solicit_max_interval) / HZ);
	add_setting(v, "ipv6/conf/%s/mldv1_unsolicited_report_interval %u\n", whose,
		    jiffies_to_msecs(READ_ONCE(conf->mldv1_unsolicited_report_interval)));
	add_setting(v, "ipv6/conf/%s/mldv2_unsolicited_report_interval %u\n", whose,
		    jiffies_to_msecs(READ_ONCE(conf->mldv2_unsolicited_report_interval)));
#ifdef CONFIG_IPV6_ROUTER_PREF
	add_setting(v, "ipv6/conf/%s/router_probe_interval %d\n", whose,
		    READ_ONCE(conf->rtr_probe_interval) / HZ);
#endif
}

static void add_devices6(struct cryo_ns_view *v, const char *whose, const struct ipv6_devconf *conf)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(settings6); i++)
		add_setting(v, "ipv6/conf/%s/%s %d\n", whose, settings6[i].name,
			    READ_ONCE(*(const s32 *)((const char *)conf + settings6[i].id)));
	add_times6(v, whose, conf);
}

static void add_ipv6(struct cryo_ns_view *v, struct net *net)
{
	const struct inet6_dev *lo;

	/* Not there with ipv6.disable=1. */
	if (!net->ipv6.devconf_all)
		return;
	add_one(v, "ipv6/bindv6only", READ_ONCE(net->ipv6.sysctl.bindv6only));
	add_devices6(v, "all", net->ipv6.devconf_all);
	add_devices6(v, "default", net->ipv6.devconf_dflt);
	rcu_read_lock();
	lo = __in6_dev_get(net->loopback_dev);
	if (lo)
		add_devices6(v, "lo", &lo->cnf);
	rcu_read_unlock();
}
#endif

void cryo_view_net_settings(struct cryo_ns_view *v, struct net *net)
{
	int low, high;

	add_ip(v, &net->ipv4);
	add_tcp(v, &net->ipv4);
	add_more_of_ip(v, &net->ipv4);
	add_more_of_tcp(v, &net->ipv4);
	inet_get_local_port_range(net, &low, &high);
	add_setting(v, "ipv4/ip_local_port_range %d %d\n", low, high);
	add_ping_groups(v, net);
	add_one(v, "core/somaxconn", READ_ONCE(net->core.sysctl_somaxconn));
	add_one(v, "unix/max_dgram_qlen", READ_ONCE(net->unx.sysctl_max_dgram_qlen));
	add_ip_devices(v, net);
#if IS_ENABLED(CONFIG_IPV6)
	add_ipv6(v, net);
#endif
}
