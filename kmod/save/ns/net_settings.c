// SPDX-License-Identifier: GPL-2.0-only
/*
 * net_settings.c - settings of a network namespace, those below /proc/sys/net that programs and
 * containers are given
 *
 * The files show the settings of the namespace of their reader, which is the requester's; so they are
 * read where they are.  A line for each: the file's name, and what can be written to it.
 */
#include <linux/inetdevice.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/seqlock.h>
#include <linux/string.h>
#include <linux/uidgid.h>
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
	add_one(v, "ipv4/conf/all/rp_filter", IPV4_DEVCONF(*ip->devconf_all, RP_FILTER));
	add_one(v, "ipv4/conf/all/route_localnet", IPV4_DEVCONF(*ip->devconf_all, ROUTE_LOCALNET));
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
 * By the numbers that they have in the user namespace which owns it, where they will be written; without
 * these, nobody there could have set them.
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
#if IS_ENABLED(CONFIG_IPV6)
	/* Not there with ipv6.disable=1. */
	if (!net->ipv6.devconf_all)
		return;
	add_one(v, "ipv6/bindv6only", READ_ONCE(net->ipv6.sysctl.bindv6only));
	add_one(v, "ipv6/conf/all/forwarding", READ_ONCE(net->ipv6.devconf_all->forwarding));
#endif
}
