// SPDX-License-Identifier: GPL-2.0-only
// What a check before a restart finds, and its input.
#pragma once

#include <fmt/format.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "context/model.h"
#include "restart/common/cpu_mask.h"
#include "restart/common/options.h"

namespace cryo {

// See files/other_uses.h.
struct OtherUse {
  bool context = false;  // the context, or one that it needs; else a process writes:
  pid_t pid = 0;         // 0: it cannot be seen
  std::string command;
  bool appends = false;
  // His open file, where the job can go on in it: at its end, and of the user of the job's processes.  Then
  // each of them goes on behind what the other one has written, as before the checkpoint.
  std::shared_ptr<const UniqueFd> file;
};
using OtherUses = std::map<std::uint32_t, OtherUse>;  // by inode of the context
using FileIdentities = std::set<std::pair<dev_t, ino_t>>;

struct Problem {
  int code;  // errno value or CR_E*
  std::string text;
};

struct Findings {
  std::vector<Problem> problems;
  std::vector<std::string> warnings;
  std::vector<std::string> hints;                // what helps against problems
  std::vector<std::string> notes;                // with --verbose
  std::vector<std::string> advice;               // likewise, and for those who ask what would be (--check)
  std::vector<std::int32_t> nice_not_permitted;  // tids
  OtherUses other_uses;                          // of output files
  std::set<std::uint32_t> rewritten;             // inodes: output files that are refused for that
  std::map<dev_t, std::uint64_t>
      kept_aside;           // bytes, by file system: what is moved out of output files (FILE.cut.N)
  FileIdentities contexts;  // that are read

  template <typename... Args>
  void problem(int code, fmt::format_string<Args...> format, Args&&... args) {
    problems.push_back({code, fmt::format(format, std::forward<Args>(args)...)});
  }
  template <typename... Args>
  void hint(fmt::format_string<Args...> format, Args&&... args) {
    hints.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    notes.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void advise(fmt::format_string<Args...> format, Args&&... args) {
    advice.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void warning(fmt::format_string<Args...> format, Args&&... args) {
    warnings.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
};

struct CheckInput {
  const Context& context;
  const Process& process;
  const RestartOptions& options;
  Creds own;
  int oom_score_adj = 0;  // own
  CpuMask cpus{};    // that can be had by who stays in the caller's control group; empty: has not been asked
  NodeMask nodes{};  // of memory: those that the process can have; empty: that cannot be told
};

}  // namespace cryo
