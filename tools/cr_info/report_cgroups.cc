// SPDX-License-Identifier: GPL-2.0-only
// Control groups and their settings.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cr_info/report.h"
#include "cr_info/text.h"

namespace cryo {
namespace {

// Of several lines: they are shown beside each other.
std::string in_one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos; at += 2) text.replace(at, 1, "; ");
  return text;
}

}  // namespace

void print_cgroups(const Context& context) {
  for (const ControlGroup& group : context.cgroups) {
    fmt::print("\ncontrol group {}\n", printable(group.path));
    if (group.head.flags & CRYO_CGROUP_OWN)
      fmt::print("  of the job alone, mode {:04o}, user {}, group {}{}\n", group.head.mode, group.head.uid,
                 group.head.gid,
                 group.head.flags & CRYO_CGROUP_PARTIAL ? ", without all of its settings" : "");
    if (group.head.files_uid != group.head.uid || group.head.files_gid != group.head.gid)
      fmt::print("  delegated to user {}, group {}\n", group.head.files_uid, group.head.files_gid);
    for (const std::int32_t tid : group.threads) fmt::print("  thread {}\n", tid);
    for (const CgroupSetting& setting : group.settings)
      fmt::print("  {:<24} {}\n", setting.name, printable(in_one_line(setting.text)));
  }
}

nlohmann::ordered_json cgroups_json(const Context& context) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const ControlGroup& group : context.cgroups) {
    nlohmann::ordered_json one = {{"path", group.path},
                                  {"of_the_job", (group.head.flags & CRYO_CGROUP_OWN) != 0},
                                  {"partial", (group.head.flags & CRYO_CGROUP_PARTIAL) != 0},
                                  {"mode", fmt::format("{:04o}", group.head.mode)},
                                  {"uid", group.head.uid},
                                  {"gid", group.head.gid},
                                  {"files_uid", group.head.files_uid},
                                  {"files_gid", group.head.files_gid},
                                  {"threads", group.threads},
                                  {"settings", nlohmann::ordered_json::object()}};
    for (const CgroupSetting& setting : group.settings) one["settings"][setting.name] = setting.text;
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace cryo
