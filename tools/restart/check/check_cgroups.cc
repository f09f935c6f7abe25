// SPDX-License-Identifier: GPL-2.0-only
// Whether the control groups of a context can be joined, or made again.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "base/error.h"
#include "restart/cgroups/cgroup.h"
#include "restart/cgroups/control_groups.h"
#include "restart/check/check.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

std::string group_above(const std::string& path) {
  return path.substr(0, path.rfind('/'));  // of one in the root: empty
}

std::string text_at(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class CgroupChecker {
 public:
  CgroupChecker(const Context& context, const RestartOptions& options, Findings& findings)
      : context_(context), options_(options), findings_(findings), root_(cgroup_mount()) {}

  void check() {
    if (makes())
      for (const ControlGroup& group : context_.cgroups) check_group(group);
    for (std::size_t i = 0; i < context_.processes.size(); ++i)
      if (!context_.processes[i].threads.empty()) {
        check_process(i);
        check_threads(i);
      }
  }

 private:
  [[nodiscard]] bool is_strict() const { return options_.cgroups == CgroupPolicy::kStrict; }
  [[nodiscard]] bool makes() const { return is_strict() || options_.cgroups == CgroupPolicy::kMake; }
  void complain(const std::string& text) {
    if (is_strict())
      findings_.problem(EPERM, "{}", text);
    else
      findings_.warning("{}", text);
  }
  void check_group(const ControlGroup& group);
  // Gone, and nothing of it is in the context.
  [[nodiscard]] bool is_lost(const std::string& path) const {
    return !root_.empty() && names::access(root_ + path, F_OK) != 0 && errno == ENOENT &&
           std::none_of(context_.cgroups.begin(), context_.cgroups.end(),
                        [&](const ControlGroup& group) { return group.path == path; });
  }
  [[nodiscard]] std::string why_not_made(const ControlGroup& group) const;
  void check_controllers(const ControlGroup& group);
  void check_process(std::size_t index);
  void check_threads(std::size_t index);

  const Context& context_;
  const RestartOptions& options_;
  Findings& findings_;
  std::string root_;
  std::set<std::string> to_be_made_;
  std::set<std::string> told_;  // that it is not going to be made, or entered
};

std::string CgroupChecker::why_not_made(const ControlGroup& group) const {
  if (root_.empty()) return "there are no control groups of version 2 here";
  if (!(group.head.flags & CRYO_CGROUP_OWN))
    return "it does not exist, and is not recreated: processes outside the job were in it, or its settings "
           "could not be read";
  if (is_strict() && (group.head.flags & CRYO_CGROUP_PARTIAL))
    return "its settings are not all in the context";
  const std::string parent = group_above(group.path);
  if (to_be_made_.contains(parent)) return {};
  if (names::access(root_ + parent, F_OK) != 0) return fmt::format("the one above it: {}", errno_text(errno));
  return names::access(root_ + parent, W_OK) == 0 ? "" : errno_text(errno);
}

// What is made is given what it had; only what is there already is as it is.
void CgroupChecker::check_controllers(const ControlGroup& group) {
  const std::string parent = group_above(group.path);
  if (to_be_made_.contains(parent)) return;
  const std::string file = root_ + parent + "/cgroup.subtree_control";
  const std::vector<std::string> there = controllers_in(text_at(file));
  std::set<std::string> wanted;
  for (const CgroupSetting& setting : group.settings)
    wanted.insert(setting.name.substr(0, setting.name.find('.')));
  for (const std::string& controller : controllers_in(setting_of(group, "cgroup.subtree_control")))
    wanted.insert(controller);
  for (const std::string& controller : wanted)
    if (controller != "cgroup" && std::find(there.begin(), there.end(), controller) == there.end())
      complain(
          fmt::format("control group {}: controller {} is not enabled in {}", group.path, controller, file));
}

void CgroupChecker::check_group(const ControlGroup& group) {
  const NamesToCheck theirs(context_, {cgroup_maker(context_, group)});
  if (!root_.empty() && names::access(root_ + group.path, F_OK) == 0) return;
  if (const std::string why = why_not_made(group); !why.empty()) {
    told_.insert(group.path);
    return complain(fmt::format("control group {}: is not going to be made: {}{}", group.path, why,
                                rights_text(context_, cgroup_maker(context_, group))));
  }
  to_be_made_.insert(group.path);
  if (group.head.flags & CRYO_CGROUP_PARTIAL)
    findings_.warning("control group {}: has had more settings than are in the context", group.path);
  check_controllers(group);
}

void CgroupChecker::check_process(std::size_t index) {
  const Process& process = context_.processes[index];
  const NamesToCheck theirs(context_, {index});
  const std::string why = cgroup_obstacle(context_, index, to_be_made_.contains(process.cgroup));
  if (why.empty()) return;
  if (is_strict())
    findings_.problem(EPERM, "pid {}: cannot be in its control group {}: {}{}", process.head.pid,
                      process.cgroup, why, rights_text(context_, index));
  else if (makes() && told_.insert(process.cgroup).second)
    findings_.warning(
        "pid {}: stays in the control group of cr_restart, not {}: {}{}{}", process.head.pid, process.cgroup,
        why, rights_text(context_, index),
        is_lost(process.cgroup) ? "; it is not recreated, as processes outside the job were in it" : "");
  else
    findings_.note("pid {}: stays in the control group of cr_restart, not {}: {}", process.head.pid,
                   process.cgroup, why);
}

// Those that are in another group than their process.
void CgroupChecker::check_threads(std::size_t index) {
  for (const ControlGroup& group : context_.cgroups)
    for (const Thread& thread : context_.processes[index].threads) {
      if (std::find(group.threads.begin(), group.threads.end(), thread.head.tid) == group.threads.end() ||
          has_exited(thread))
        continue;
      const std::string why =
          cgroup_obstacle_of_threads(context_, index, group.path, to_be_made_.contains(group.path));
      if (why.empty()) continue;
      if (is_strict())
        findings_.problem(EPERM, "thread {}: cannot be in its control group {}: {}", thread.head.tid,
                          group.path, why);
      else
        findings_.note("thread {}: stays in the control group of its process, not {}: {}", thread.head.tid,
                       group.path, why);
    }
}

}  // namespace

void check_cgroups(const Context& context, const RestartOptions& options, Findings& findings) {
  CgroupChecker(context, options, findings).check();
}

}  // namespace cryo
