// SPDX-License-Identifier: GPL-2.0-only
#include <fmt/format.h>
#include <sched.h>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "cr_info/report.h"
#include "cr_info/text.h"

namespace cryo {
namespace {

std::string ranges_text(const std::vector<cryo_id_range>& ranges) {
  std::string text;
  for (const cryo_id_range& range : ranges)
    text +=
        fmt::format("{}{} to {} ({})", text.empty() ? "" : ", ", range.first, range.lower_first, range.count);
  return text.empty() ? "none" : text;
}

// Those that the requester does not have.
std::string new_mounts_text(const MountTree& tree) {
  std::string text;
  for (std::size_t i = 0; i < tree.mounts.size(); ++i)
    if (tree.kinds[i].kind == CRYO_MOUNT_NEW)
      text += fmt::format("{}{} on {}", text.empty() ? "; new: " : ", ", printable(tree.mounts[i].type),
                          printable(tree.mounts[i].point));
  return text;
}

// In its temporary file systems.
std::string files_text(const Context& context, std::uint32_t ns) {
  std::uint64_t files = 0, bytes = 0;
  for (const auto& [id, entry] : context.mount_entries) {
    if (entry.head.ns != ns || entry.path.empty()) continue;
    ++files;
    bytes += entry.head.size;
  }
  return files == 0 ? "" : fmt::format("; {} files in them, {}", files, bytes_text(bytes));
}

// One of the requester's, or a user namespace, holds nothing more.
std::string pid_text(const cryo_ns& head) {
  if ((head.flags & CRYO_PIDNS_UNUSED) != 0) return "no process has been in it yet";
  if ((head.flags & CRYO_PIDNS_ENDED) != 0) return "its first process has ended";
  return head.parent != 0 ? fmt::format("below {}", head.parent) : "empty";
}

std::string contents_text(const Context& context, std::uint32_t id) {
  const Namespace& ns = context.namespaces.at(id);
  if (ns.uts) return fmt::format("host name {}", printable(field_text(ns.uts->nodename)));
  if (ns.time) return fmt::format("CLOCK_MONOTONIC {}", duration_text(ns.time->monotonic_ns));
  if (ns.net)
    return fmt::format("loopback {}, {} settings", (ns.net->flags & CRYO_NET_LOOPBACK_UP) ? "up" : "down",
                       ns.settings.size());
  if (ns.user)
    return fmt::format("users {}; groups {}{}", ranges_text(ns.uids), ranges_text(ns.gids),
                       (ns.user->flags & CRYO_USER_SETGROUPS) ? "" : "; no setgroups");
  if (!ns.cgroup.empty()) return fmt::format("root {}", printable(ns.cgroup));
  if (ns.mnt)
    return fmt::format("{} mounts{}{}{}", ns.mnt->mounts.size(),
                       ns.root ? "; a root directory of its own" : "", new_mounts_text(*ns.mnt),
                       files_text(context, id));
  return pid_text(ns.head);
}

const char* type_name(const Namespace& ns) {
  if (ns.uts) return "uts";
  if (ns.time) return "time";
  if (ns.net) return "network";
  if (ns.user) return "user";
  if (ns.mnt) return "mount";
  if (ns.head.type == CLONE_NEWPID) return "pid";
  return ns.ipc ? "ipc" : "cgroup";
}

}  // namespace

void print_namespaces(const Context& context) {
  for (const auto& [id, ns] : context.namespaces) {
    fmt::print("\n{} namespace {}: {}", type_name(ns), id, contents_text(context, id));
    if (ns.head.owner != 0) fmt::print(", {} {}", ns.user ? "below" : "owned by", ns.head.owner);
    fmt::print("\n");
  }
}

nlohmann::ordered_json namespaces_json(const Context& context) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const auto& [id, ns] : context.namespaces)
    json.push_back({{"id", id},
                    {"type", type_name(ns)},
                    {"owner", ns.head.owner},
                    {"text", contents_text(context, id)}});
  return json;
}

}  // namespace cryo
