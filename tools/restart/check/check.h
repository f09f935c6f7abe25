// SPDX-License-Identifier: GPL-2.0-only
// What stands in the way of a restart, all of it at once, before anything is created.
#pragma once

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "context/chain.h"
#include "context/model.h"
#include "restart/engine/options.h"
#include "restart/files/other_uses.h"
#include "restart/memory/mempolicy.h"
#include "restart/process/affinity.h"
#include "restart/process/credentials.h"

namespace cryo {

struct TreePlan;

struct Problem {
  int code;  // errno value or CR_E*
  std::string text;
};

struct Findings {
  std::vector<Problem> problems;
  std::vector<std::string> warnings;
  std::vector<std::string> hints;                // what helps against problems
  std::vector<std::string> notes;                // for those who ask for more
  std::vector<std::string> advice;               // likewise, and for those who ask what would be (--check)
  std::vector<std::int32_t> nice_not_permitted;  // tids
  OtherUses other_uses;                          // of output files
  std::set<std::uint32_t> rewritten;             // inodes: output files that are refused for that
  std::map<dev_t, std::uint64_t> kept_aside;     // bytes, by file system: what is moved out of output files (FILE.cut.N)
  FileIdentities contexts;                       // that are read

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

[[nodiscard]] Findings check_context(const Context& context, const Chain& chain,
                                     const RestartOptions& options);

// ---- the parts, each in a file of its own ----

struct CheckInput {
  const Context& context;
  const Process& process;
  const RestartOptions& options;
  Creds own;
  int oom_score_adj = 0;  // own
  CpuMask cpus{};         // that can be had by who stays in the caller's control group; empty: has not been asked
  NodeMask nodes{};       // of memory: those that the process can have; empty: that cannot be told
};
// Files that have changed since the checkpoint, of all processes at once: one line for each.
void check_changed(const Context& context, const RestartOptions& options, Findings& findings);
// Files that the job writes to, and that somebody has written anew.  Before check_files().
void check_rewritten(const Context& context, const RestartOptions& options, Findings& findings);
// Locks of files that somebody else holds by now.
void check_locks(const Context& context, const RestartOptions& options, Findings& findings);
// Code that cannot go on on this machine, file by file.
void check_code(const Context& context, const RestartOptions& options, Findings& findings);
// Whether the module lets the caller do it.  Apart from the others: it is about this machine, at this moment.
void check_module(const Context& context, const RestartOptions& options, Findings& findings);
// Whether a privileged caller would hand its terminal, or other descriptors, on to another user's process.
void check_handed_on(const Context& context, const RestartOptions& options, const Creds& own, Findings& findings);
// Who can have written it: one file, and with all that it needs.
void check_origin_of(const Source& source, const RestartOptions& options, const Creds& own, Findings& findings);
void check_origin(const Context& context, const Chain& chain, const RestartOptions& options, const Creds& own,
                  Findings& findings);
void check_memory(const CheckInput& input, Findings& findings);
// Contexts of io_setup(2) of all processes together.
void check_aio(const Context& context, Findings& findings);
// Huge pages of all processes together.
void check_hugetlb(const Context& context, const RestartOptions& options, const Creds& own, Findings& findings);
// Each file once, in the name of the first process that has it.
void check_files(const Context& context, const RestartOptions& options, const Creds& own, Findings& findings);
void check_shadow_stacks(const CheckInput& input, Findings& findings);
void check_process(const CheckInput& input, Findings& findings);
// Who has no number in the caller's user namespace cannot be there, nor can anything be looked at with his rights: false, and
// nothing else is worth looking at.
bool check_user_numbers(const Context& context, Findings& findings);
// A process is forked with all that its forker has: can it go from there to its own namespaces?
[[nodiscard]] bool can_be_forked(const Context& context, const cryo_namespaces& forker,
                                 const cryo_namespaces& child);
// Of processes, threads and helpers.
void check_ids(const Context& context, const TreePlan& plan, Findings& findings);
void check_threads(const CheckInput& input, Findings& findings);
// Of all processes, and whether they can be made again.
void check_cgroups(const Context& context, const RestartOptions& options, Findings& findings);

}  // namespace cryo
