// SPDX-License-Identifier: GPL-2.0-only
// Control groups that the job had to itself, and their settings.
//
// Each name is going to be one of a file, or of a directory, that cr_restart opens in its group: none may
// lead out of it, nor be one to which commands are written.
#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string_view>

#include "context/staging.h"

namespace cryo {
namespace {

constexpr std::size_t kMaxGroupPath = 4095;

// As in kmod/save/process/cgroup_files.c.
constexpr std::array<std::string_view, 5> kCommandFiles = {"cgroup.procs", "cgroup.threads", "cgroup.kill",
                                                           "memory.reclaim", "cpu.weight.nice"};

bool is_path_of_group(std::string_view path) {
  if (path.size() < 2 || path.size() > kMaxGroupPath || path.front() != '/') return false;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/', 1), path.size());
    const std::string_view part = path.substr(1, end - 1);
    if (part.empty() || part == "." || part == "..") return false;
    path.remove_prefix(end);
  }
  return true;
}

bool is_setting_name(std::string_view name) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  if (name.empty() || name.size() > CRYO_CGROUP_NAME_MAX || name.front() < 'a' || name.front() > 'z')
    return false;
  return name.find('.') != name.npos && std::all_of(name.begin(), name.end(), is_part);
}

bool is_command_file(std::string_view name) {
  if (std::find(kCommandFiles.begin(), kCommandFiles.end(), name) != kCommandFiles.end()) return true;
  return name.ends_with(".peak") || (name.ends_with(".pressure") && name != "cgroup.pressure");
}

std::string_view text_in(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void parse_cgroup_dir(Staging& staging, const Payload& payload) {
  ControlGroup group;
  group.head = payload.fixed<cryo_cgroup>();
  const auto tail = payload.tail();
  const std::uint64_t size = group.head.path_len + std::uint64_t{group.head.threads} * sizeof(std::uint32_t);
  if (size != tail.size())
    payload.damaged("a path of {} bytes and {} threads are not {} bytes", group.head.path_len,
                    group.head.threads, tail.size());
  if (staging.cgroups.order().size() >= CRYO_MAX_CGROUPS)
    payload.damaged("more than {} control groups", CRYO_MAX_CGROUPS);
  group.path = text_in(tail.first(group.head.path_len));
  if (group.path.find('\0') != std::string::npos)
    payload.damaged("a NUL byte is in the path of a control group");
  if (!is_path_of_group(group.path))
    payload.damaged("'{}' is no path of a control group below the root", group.path);
  if ((group.head.mode & ~07777U) != 0)
    payload.damaged("a control group with the mode {:o}", group.head.mode);
  group.threads.resize(group.head.threads);
  if (!group.threads.empty())
    std::memcpy(group.threads.data(), tail.data() + group.head.path_len, tail.size() - group.head.path_len);
  staging.cgroups.define(payload.object(), payload) = std::move(group);
}

void parse_cgroup_setting(Staging& staging, const Payload& payload) {
  // Comes after its group.
  ControlGroup* group = staging.cgroups.find(payload.object());
  if (group == nullptr)
    payload.damaged("belongs to control group {}, which the context does not have", payload.object());
  const auto head = payload.fixed<cryo_cgroup_setting>();
  const auto tail = payload.tail();
  if (head.name_len >= tail.size())
    payload.damaged("a name of {} bytes and a text in {}", head.name_len, tail.size());
  CgroupSetting setting{std::string(text_in(tail.first(head.name_len))),
                        std::string(text_in(tail.subspan(head.name_len)))};
  if (!is_setting_name(setting.name)) payload.damaged("'{}' is no name of a setting", setting.name);
  if (is_command_file(setting.name)) payload.damaged("{} is no setting of a control group", setting.name);
  if (setting.text.size() > CRYO_CGROUP_VALUE_MAX)
    payload.damaged("{} has {} bytes", setting.name, setting.text.size());
  if (setting.text.find('\0') != std::string::npos) payload.damaged("a NUL byte is in {}", setting.name);
  if (group->settings.size() >= CRYO_CGROUP_SETTINGS)
    payload.damaged("more than {} settings of {}", CRYO_CGROUP_SETTINGS, group->path);
  for (const CgroupSetting& other : group->settings)
    if (other.name == setting.name) payload.damaged("{} appears twice", setting.name);
  group->settings.push_back(std::move(setting));
}

void assemble_cgroups(Staging& staging, Context& context) {
  std::set<std::int32_t> threads;
  for (const Process& process : context.processes)
    for (const Thread& thread : process.threads) threads.insert(thread.head.tid);
  for (const std::uint32_t number : staging.cgroups.order())
    context.cgroups.push_back(std::move(*staging.cgroups.find(number)));
  // Those that others are in come first.
  std::sort(context.cgroups.begin(), context.cgroups.end(),
            [](const ControlGroup& a, const ControlGroup& b) { return a.path < b.path; });
  for (std::size_t i = 0; i < context.cgroups.size(); ++i) {
    const ControlGroup& group = context.cgroups[i];
    if (i > 0 && group.path == context.cgroups[i - 1].path)
      inconsistent(staging, "the control group {} appears twice", group.path);
    for (const std::int32_t tid : group.threads)
      if (threads.erase(tid) == 0)
        inconsistent(staging, "thread {} of the control group {} is not there, or in two of them", tid,
                     group.path);
  }
}

}  // namespace cryo
