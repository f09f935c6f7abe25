// SPDX-License-Identifier: GPL-2.0-only
// How a restart is wanted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "restart/common/relocate.h"

namespace cryo {

enum class Tolerance { kError, kWarn };
enum class ChangedFiles { kRefuse, kWarn, kIgnore };
enum class Tails { kDefault, kAside, kStay, kGo };
enum class DevicePolicy { kFail, kReopen, kClose };

// --cgroups: what becomes of the control groups that processes were in.
enum class CgroupPolicy {
  kJoin,    // those that are there, where that is allowed
  kMake,    // and those that the job had to itself are made again
  kLeave,   // processes are in that of cr_restart
  kStrict,  // as kMake, or there is no restart
};

// --redirect, see redirect.h
struct Redirection {
  std::optional<std::int32_t> pid;  // none: the first process that has the descriptor
  std::uint32_t fd = 0;
  std::string path;  // absolute
};

struct RestartOptions {
  bool own_groups = false;  // supplementary groups: those of cr_restart, not those of the context
  bool restore_pid = true;  // of the process and of its threads
  bool restore_pgid = false;
  bool restore_sid = false;
  Tails tails = Tails::kDefault;              // what has come to files open for writing, see output_files.h
  int signal = 0;                             // pending before the process starts; 0: none
  Tolerance other_cpu = Tolerance::kError;    // CPU lacks what the process may have decided to use
  Tolerance other_owner = Tolerance::kError;  // another user than a privileged caller can have written the
                                              // context, or gets its terminal
  bool restore_files = false;  // make files that are gone again by their names, not without one
  // Files that are not what they were; not given: see check_changed.cc.
  std::optional<ChangedFiles> changed_files;
  bool map = true;              // memory comes from the context when it is used first, as far as possible
  bool populate = true;         // and in the background, before that
  bool time_namespace = false;  // clocks go on from where they were
  std::string source;           // path of the context, for callbacks; empty: it has none
  int requester = 0;            // for callbacks; 0: cr_restart
  Relocations relocations;
  std::vector<Redirection> redirections;
  CgroupPolicy cgroups = CgroupPolicy::kJoin;
  std::map<std::string, DevicePolicy> devices;  // by saved path: instead of what the context says

  [[nodiscard]] std::optional<DevicePolicy> device_policy(const std::string& path) const {
    const auto found = devices.find(path);
    return found == devices.end() ? std::nullopt : std::optional(found->second);
  }
};

}  // namespace cryo
