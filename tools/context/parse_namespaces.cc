// SPDX-License-Identifier: GPL-2.0-only
// Namespaces, and which a process is in.
#include <sched.h>

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>
#include <string_view>

#include "context/file_kinds.h"
#include "context/staging.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

namespace cryo {
namespace {

constexpr std::array<std::uint32_t, 8> kTypes = {CLONE_NEWUSER,   CLONE_NEWUTS,  CLONE_NEWIPC, CLONE_NEWNET,
                                                 CLONE_NEWCGROUP, CLONE_NEWTIME, CLONE_NEWPID, CLONE_NEWNS};

Namespace& namespace_of(Staging& staging, const Payload& payload) {
  staging.once(payload);
  if (payload.object() == 0) payload.damaged("0 cannot be a namespace");
  return staging.namespaces.mention(payload.object(), payload.section());
}

template <std::size_t N>
void check_name(const Payload& payload, const __u8 (&name)[N]) {
  if (name[N - 1] != 0) payload.damaged("a name without an end");
}

// Inside of 32 bits, not empty; the kernel looks after overlaps.
void check_range(const Payload& payload, const cryo_id_range& range) {
  constexpr std::uint64_t kEnd = std::numeric_limits<std::uint32_t>::max();
  if (range.count == 0 || std::uint64_t{range.first} + range.count > kEnd ||
      std::uint64_t{range.lower_first} + range.count > kEnd)
    payload.damaged("a range of {} ids from {} at {}", range.count, range.first, range.lower_first);
}

bool is_complete(const Namespace& ns) {
  switch (ns.head.type) {
    case CLONE_NEWUTS:
      return ns.uts.has_value();
    case CLONE_NEWUSER:
      return ns.user.has_value();
    case CLONE_NEWTIME:
      return ns.time.has_value();
    case CLONE_NEWIPC:
      return ns.ipc.has_value();
    case CLONE_NEWNET:
      return ns.net.has_value();
    case CLONE_NEWCGROUP:
      return !ns.cgroup.empty();
    case CLONE_NEWNS:
      return ns.mnt.has_value();
    default:
      return true;
  }
}

bool is(const Context& context, std::uint32_t id, std::uint32_t type) {
  const auto ns = context.namespaces.find(id);
  return id == 0 || (ns != context.namespaces.end() && ns->second.head.type == type);
}

// A pid namespace has a parent, which has fewer above it.
void check_parent(const Staging& staging, const Context& context, std::uint32_t id) {
  std::size_t steps = 0;
  for (std::uint32_t at = id; at != 0; at = context.namespaces.at(at).head.parent) {
    if (!is(context, context.namespaces.at(at).head.parent, CLONE_NEWPID))
      inconsistent(staging, "namespace {}: its parent is not there", at);
    if (++steps > context.namespaces.size()) inconsistent(staging, "namespace {} is its own parent", id);
  }
}

// In each namespace from its own up to the requester's, exclusively, it has a number.
void check_numbers(const Staging& staging, const Context& context, const Process& process) {
  for (std::uint32_t ns = process.namespaces.pid; ns != 0; ns = context.namespaces.at(ns).head.parent) {
    const auto has = [&](std::int32_t id) {
      return std::any_of(process.nested_ids.begin(), process.nested_ids.end(),
                         [&](const cryo_nested_id& one) { return one.ns == ns && one.id == id; });
    };
    if (!has(process.head.pid))
      inconsistent(staging, "process {} has no number in namespace {}", process.head.pid, ns);
    for (const Thread& thread : process.threads)
      if (!has(thread.head.tid))
        inconsistent(staging, "thread {} has no number in namespace {}", thread.head.tid, ns);
  }
}

// One without processes is of use to somebody just above it, who can make it again.
void check_empty(const Staging& staging, const Context& context, const Process& process) {
  const cryo_namespaces& in = process.namespaces;
  for (std::uint32_t ns = in.pid; ns != 0; ns = context.namespaces.at(ns).head.parent)
    if (context.namespaces.at(ns).head.flags != 0)
      inconsistent(staging, "process {} is in namespace {}, which has no processes", process.head.pid, ns);
  if (in.pid_for_children == in.pid || in.pid_for_children == 0) return;
  const cryo_ns& children = context.namespaces.at(in.pid_for_children).head;
  if (children.flags != 0 && (children.parent != in.pid || children.owner != in.user))
    inconsistent(staging, "process {} cannot have made namespace {}", process.head.pid, in.pid_for_children);
}

void check_owner(const Staging& staging, const Context& context, std::uint32_t id) {
  std::size_t steps = 0;
  for (std::uint32_t at = id; at != 0; at = context.namespaces.at(at).head.owner) {
    if (!is(context, context.namespaces.at(at).head.owner, CLONE_NEWUSER))
      inconsistent(staging, "namespace {}: its owner {} is not there", at,
                   context.namespaces.at(at).head.owner);
    if (++steps > context.namespaces.size()) inconsistent(staging, "namespace {} is its own owner", id);
  }
}

}  // namespace

void parse_namespaces(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const std::uint32_t pid = payload.object();
  if (pid == 0 || pid > std::numeric_limits<std::int32_t>::max()) payload.damaged("{} cannot be a pid", pid);
  const auto head = payload.fixed<cryo_namespaces>();
  if (head.time != 0 && head.time_for_children == 0)
    payload.damaged("time namespace {}, and none for children", head.time);
  staging.processes.mention(static_cast<std::int32_t>(pid), payload.section()).namespaces = head;
}

void parse_pids(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const std::uint32_t pid = payload.object();
  if (pid == 0 || pid > std::numeric_limits<std::int32_t>::max()) payload.damaged("{} cannot be a pid", pid);
  const auto ids = payload.array<cryo_nested_id>();
  for (const cryo_nested_id& id : ids)
    if (id.id < 0 || id.number <= 0 || id.ns == 0)
      payload.damaged("{} is called {} in namespace {}", id.id, id.number, id.ns);
  staging.processes.mention(static_cast<std::int32_t>(pid), payload.section()).nested_ids = ids;
}

void parse_ns(Staging& staging, const Payload& payload) {
  if (payload.object() == 0) payload.damaged("0 cannot be a namespace");
  const auto head = payload.fixed<cryo_ns>();
  if (std::find(kTypes.begin(), kTypes.end(), head.type) == kTypes.end())
    payload.damaged("a namespace of type {:#x}", head.type);
  if (head.flags != 0 &&
      (head.type != CLONE_NEWPID || (head.flags != CRYO_PIDNS_UNUSED && head.flags != CRYO_PIDNS_ENDED)))
    payload.damaged("a namespace of type {:#x} with flags {:#x}", head.type, head.flags);
  staging.namespaces.define(payload.object(), payload).head = head;
}

void parse_ns_uts(Staging& staging, const Payload& payload) {
  const auto head = payload.fixed<cryo_ns_uts>();
  check_name(payload, head.nodename);
  check_name(payload, head.domainname);
  namespace_of(staging, payload).uts = head;
}

void parse_ns_user(Staging& staging, const Payload& payload) {
  const auto head = payload.fixed<cryo_ns_user>();
  if (head.nr_uids > CRYO_MAX_ID_RANGES || head.nr_gids > CRYO_MAX_ID_RANGES)
    payload.damaged("{} and {} ranges of ids", head.nr_uids, head.nr_gids);
  const auto ranges = payload.records<cryo_id_range>(head.nr_uids + head.nr_gids, head.record_size);
  for (const cryo_id_range& range : ranges) check_range(payload, range);
  Namespace& ns = namespace_of(staging, payload);
  ns.user = head;
  ns.uids.assign(ranges.begin(), ranges.begin() + head.nr_uids);
  ns.gids.assign(ranges.begin() + head.nr_uids, ranges.end());
}

void parse_ns_time(Staging& staging, const Payload& payload) {
  const auto head = payload.fixed<cryo_ns_time>();
  if (head.monotonic_ns < 0 || head.boottime_ns < 0)
    payload.damaged("clocks of {} and {}", head.monotonic_ns, head.boottime_ns);
  namespace_of(staging, payload).time = head;
}

void parse_ns_ipc(Staging& staging, const Payload& payload) {
  const auto ipc = payload.fixed<cryo_ns_ipc>();
  for (const std::uint32_t next : ipc.next_id)
    if (next > 1U << 31) payload.damaged("the next id of an object cannot be {}", next - 1);
  namespace_of(staging, payload).ipc = ipc;
}

void parse_ns_cgroup(Staging& staging, const Payload& payload) {
  std::string path = payload.string();
  if (!path.starts_with('/')) payload.damaged("'{}' is no path of a control group", path);
  namespace_of(staging, payload).cgroup = std::move(path);
}

// Those that the module saves: a context names no other file.
constexpr std::string_view kSettings[] = {
    "core/somaxconn",
    "ipv4/fwmark_reflect",
    "ipv4/icmp_echo_ignore_all",
    "ipv4/icmp_echo_ignore_broadcasts",
    "ipv4/icmp_errors_use_inbound_ifaddr",
    "ipv4/icmp_ignore_bogus_error_responses",
    "ipv4/igmp_max_memberships",
    "ipv4/igmp_max_msf",
    "ipv4/ip_autobind_reuse",
    "ipv4/ip_default_ttl",
    "ipv4/ip_dynaddr",
    "ipv4/ip_early_demux",
    "ipv4/ip_forward",
    "ipv4/ip_forward_use_pmtu",
    "ipv4/ip_local_port_range",
    "ipv4/ip_no_pmtu_disc",
    "ipv4/ip_nonlocal_bind",
    "ipv4/ip_unprivileged_port_start",
    "ipv4/ping_group_range",
    "ipv4/tcp_abort_on_overflow",
    "ipv4/tcp_adv_win_scale",
    "ipv4/tcp_autocorking",
    "ipv4/tcp_base_mss",
    "ipv4/tcp_dsack",
    "ipv4/tcp_early_demux",
    "ipv4/tcp_early_retrans",
    "ipv4/tcp_ecn",
    "ipv4/tcp_ecn_fallback",
    "ipv4/tcp_fastopen",
    "ipv4/tcp_fin_timeout",
    "ipv4/tcp_frto",
    "ipv4/tcp_keepalive_intvl",
    "ipv4/tcp_keepalive_probes",
    "ipv4/tcp_keepalive_time",
    "ipv4/tcp_limit_output_bytes",
    "ipv4/tcp_max_syn_backlog",
    "ipv4/tcp_max_tw_buckets",
    "ipv4/tcp_min_snd_mss",
    "ipv4/tcp_moderate_rcvbuf",
    "ipv4/tcp_mtu_probing",
    "ipv4/tcp_no_metrics_save",
    "ipv4/tcp_notsent_lowat",
    "ipv4/tcp_orphan_retries",
    "ipv4/tcp_recovery",
    "ipv4/tcp_retries1",
    "ipv4/tcp_retries2",
    "ipv4/tcp_rfc1337",
    "ipv4/tcp_rmem",
    "ipv4/tcp_sack",
    "ipv4/tcp_slow_start_after_idle",
    "ipv4/tcp_stdurg",
    "ipv4/tcp_syn_retries",
    "ipv4/tcp_synack_retries",
    "ipv4/tcp_syncookies",
    "ipv4/tcp_thin_linear_timeouts",
    "ipv4/tcp_timestamps",
    "ipv4/tcp_tw_reuse",
    "ipv4/tcp_window_scaling",
    "ipv4/tcp_wmem",
    "ipv4/udp_early_demux",
    "ipv4/udp_rmem_min",
    "ipv4/udp_wmem_min",
    "ipv6/bindv6only",
    "unix/max_dgram_qlen",
};

// Of all devices, of those to come, and of the loopback device: what is in ipv4/conf and ipv6/conf.
constexpr std::string_view kDevices[] = {"all", "default", "lo"};
constexpr std::string_view kDeviceSettings4[] = {
    "accept_local",
    "accept_redirects",
    "accept_source_route",
    "arp_accept",
    "arp_announce",
    "arp_evict_nocarrier",
    "arp_filter",
    "arp_ignore",
    "arp_notify",
    "bc_forwarding",
    "bootp_relay",
    "disable_policy",
    "disable_xfrm",
    "drop_gratuitous_arp",
    "drop_unicast_in_l2_multicast",
    "force_igmp_version",
    "forwarding",
    "igmpv2_unsolicited_report_interval",
    "igmpv3_unsolicited_report_interval",
    "ignore_routes_with_linkdown",
    "log_martians",
    "medium_id",
    "promote_secondaries",
    "proxy_arp",
    "proxy_arp_pvlan",
    "route_localnet",
    "rp_filter",
    "secure_redirects",
    "send_redirects",
    "shared_media",
    "src_valid_mark",
    "tag",
};
constexpr std::string_view kDeviceSettings6[] = {
    "accept_dad",
    "accept_ra",
    "accept_ra_defrtr",
    "accept_ra_from_local",
    "accept_ra_min_hop_limit",
    "accept_ra_mtu",
    "accept_ra_pinfo",
    "accept_ra_rt_info_max_plen",
    "accept_ra_rt_info_min_plen",
    "accept_ra_rtr_pref",
    "accept_redirects",
    "accept_source_route",
    "autoconf",
    "dad_transmits",
    "disable_ipv6",
    "disable_policy",
    "drop_unicast_in_l2_multicast",
    "drop_unsolicited_na",
    "force_mld_version",
    "force_tllao",
    "forwarding",
    "hop_limit",
    "ignore_routes_with_linkdown",
    "keep_addr_on_down",
    "max_addresses",
    "max_desync_factor",
    "mldv1_unsolicited_report_interval",
    "mldv2_unsolicited_report_interval",
    "mtu",
    "ndisc_notify",
    "optimistic_dad",
    "proxy_ndp",
    "regen_max_retry",
    "router_probe_interval",
    "router_solicitation_delay",
    "router_solicitation_interval",
    "router_solicitation_max_interval",
    "router_solicitations",
    "suppress_frag_ndisc",
    "temp_prefered_lft",
    "temp_valid_lft",
    "use_oif_addrs_only",
    "use_optimistic",
    "use_tempaddr",
};

bool is_device_setting(std::string_view name) {
  constexpr std::string_view kConf = "ipv4/conf/";
  const std::string_view rest = name.substr(std::min(kConf.size(), name.size()));
  const std::size_t end = std::min(rest.find('/'), rest.size());
  if (!std::ranges::binary_search(kDevices, rest.substr(0, end)) || end == rest.size()) return false;
  const std::string_view setting = rest.substr(end + 1);
  if (name.starts_with(kConf)) return std::ranges::binary_search(kDeviceSettings4, setting);
  return name.starts_with("ipv6/conf/") && std::ranges::binary_search(kDeviceSettings6, setting);
}

std::vector<std::pair<std::string, std::string>> parse_settings(const Payload& payload) {
  std::vector<std::pair<std::string, std::string>> settings;
  std::istringstream lines(payload.string());
  for (std::string line; std::getline(lines, line);) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string name = line.substr(0, end);
    const std::string value = end < line.size() ? line.substr(end + 1) : "";
    if (!(std::ranges::binary_search(kSettings, name) || is_device_setting(name)) || value.empty() ||
        value.find_first_not_of("0123456789 -") != std::string::npos)
      payload.damaged("'{}' is no setting of a network namespace", line);
    settings.emplace_back(name, value);
  }
  return settings;
}

void parse_ns_net(Staging& staging, const Payload& payload) {
  const auto head = payload.fixed<cryo_ns_net>();
  if (head.flags & ~CRYO_NET_LOOPBACK_UP)
    staging.unknown(payload.section(), "network namespace with flags {:#x}", head.flags);
  Namespace& ns = namespace_of(staging, payload);
  ns.net = head;
  ns.settings = parse_settings(payload);
}

namespace {

// Pid and time namespaces are not there before the processes that are in them.
void check_namespace_file(const Staging& staging, const File& file, const Context& context) {
  const auto number = static_cast<std::uint32_t>(file.head.pos);
  const auto type = static_cast<std::uint32_t>(file.head.pos >> 32);
  const bool known = std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
  const bool late = type == CLONE_NEWPID || type == CLONE_NEWTIME;
  if (!known || !is(context, number, type) || (number != 0 && late))
    inconsistent(staging, "file {}: namespace {} of type {:#x} is not there", file.id, number, type);
}

}  // namespace

void check_namespaces(const Staging& staging, const Context& context) {
  for (const auto& [id, ns] : context.namespaces) {
    if (!is_complete(ns)) inconsistent(staging, "namespace {}: what it holds is not there", id);
    check_owner(staging, context, id);
    if (ns.head.type == CLONE_NEWPID) check_parent(staging, context, id);
    if (!ns.mnt) continue;
    for (const cryo_mount& mount : ns.mnt->kinds)
      if (!is(context, mount.pid_ns, CLONE_NEWPID))
        inconsistent(staging, "mount {}: its pid namespace {} is not there", mount.id, mount.pid_ns);
  }
  for (const auto& [id, file] : context.files) {
    if (!is(context, file.head.mnt, CLONE_NEWNS))
      inconsistent(staging, "file {}: its mount namespace {} is not there", id, file.head.mnt);
    if (!is(context, file.name_mnt, CLONE_NEWNS))
      inconsistent(staging, "file {}: the mount namespace {} of its name is not there", id, file.name_mnt);
    if (file.head.kind == CRYO_FILE_NAMESPACE) check_namespace_file(staging, file, context);
  }
  for (const Process& process : context.processes) {
    const cryo_namespaces& in = process.namespaces;
    const std::pair<std::uint32_t, std::uint32_t> wanted[] = {{in.user, CLONE_NEWUSER},
                                                              {in.uts, CLONE_NEWUTS},
                                                              {in.ipc, CLONE_NEWIPC},
                                                              {in.net, CLONE_NEWNET},
                                                              {in.cgroup, CLONE_NEWCGROUP},
                                                              {in.time, CLONE_NEWTIME},
                                                              {in.time_for_children, CLONE_NEWTIME},
                                                              {in.pid, CLONE_NEWPID},
                                                              {in.pid_for_children, CLONE_NEWPID},
                                                              {in.mnt, CLONE_NEWNS}};
    for (const auto& [id, type] : wanted)
      if (!is(context, id, type))
        inconsistent(staging, "process {}: its namespace {} is not there", process.head.pid, id);
    check_numbers(staging, context, process);
    check_empty(staging, context, process);
  }
}

const FileKindModel kNamespaceModel = {.kind = CRYO_FILE_NAMESPACE, .name = "namespace"};

}  // namespace cryo
