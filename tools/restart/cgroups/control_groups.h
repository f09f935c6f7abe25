// SPDX-License-Identifier: GPL-2.0-only
// Control groups that a restart makes again (--cgroups=make and strict), and threads that were in another one
// than their process.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "context/model.h"
#include "restart/common/options.h"
#include "restart/rights/created_paths.h"

namespace cryo {

// --cgroups=leave: as if nothing were known of any.
void leave_cgroups(Context& context);

// The process of the job with whose rights the group is made, and its settings are written: one with the ids
// of who owned it, or else one that was in it.
[[nodiscard]] std::size_t cgroup_maker(const Context& context, const ControlGroup& group);

// " (with the rights of user N ...)" where these, and not cr_restart's own, are what that process's group is
// looked at, made and entered with; else empty.
[[nodiscard]] std::string rights_text(const Context& context, std::size_t process);

// Controllers of which a text such as that of cgroup.controllers tells, in their order.
[[nodiscard]] std::vector<std::string> controllers_in(const std::string& text);
[[nodiscard]] std::string setting_of(const ControlGroup& group,
                                     const std::string& name);  // empty: there is none

// Whether it is to be in the way of the restart that one of these is not what it was: else there is a
// warning.
class ControlGroups {
 public:
  using PidOf = std::function<pid_t(const Process&)>;

  ControlGroups(const Context& context, const RestartOptions& options, CreatedPaths created,
                std::vector<std::string>& warnings)
      : context_(context), options_(options), created_(created), warnings_(warnings) {}

  // What is missing, with its settings. Before there are processes, which could use more than is theirs.
  // Throws Error.
  void make();
  // When all threads are there, and before any of them runs.
  void settle(const PidOf& pid_of);

 private:
  [[nodiscard]] bool makes() const { return options_.cgroups == CgroupPolicy::kMake || is_strict(); }
  [[nodiscard]] bool is_strict() const { return options_.cgroups == CgroupPolicy::kStrict; }
  void complain(int code, const std::string& text);
  void make_one(const ControlGroup& group);
  void give_controllers(const ControlGroup& group);
  void set(const ControlGroup& group, const std::string& name, const std::string& text);
  void set_all(const ControlGroup& group);
  void give_away(const ControlGroup& group);
  void move_threads(const ControlGroup& group, const PidOf& pid_of);
  void wait_for_parked(const PidOf& pid_of) const;
  void move_process(std::size_t index, pid_t pid);
  void look_at_process(std::size_t index, pid_t pid);

  const Context& context_;
  const RestartOptions& options_;
  CreatedPaths created_;
  std::vector<std::string>& warnings_;
  std::string root_;                       // where the hierarchy is
  std::map<std::size_t, int> refused_;     // errno, by process
  std::vector<const ControlGroup*> made_;  // in the order of the context
};

}  // namespace cryo
