// SPDX-License-Identifier: GPL-2.0-only
#include "restart/engine/last_steps.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/error.h"
#include "restart/common/proc_files.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

// It has not, where that cannot be seen.  The saved id does not change for a while only.
bool has_other_user(const std::string& status, uid_t own) {
  constexpr const char* kLine = "\nUid:";
  const std::size_t line = status.find(kLine);
  unsigned saved = 0;
  return line != std::string::npos && std::sscanf(status.c_str() + line, " Uid: %*u %*u %u", &saved) == 1 &&
         saved != own;
}

// What passes between two looks at most counts: cr_restart may have been stopped itself.
constexpr std::chrono::seconds kMost(5);

}  // namespace

bool Stops::take_too_long(bool any) {
  const auto now = std::chrono::steady_clock::now();
  if (any) stopped_ += std::min<std::chrono::steady_clock::duration>(now - last_, kMost);
  last_ = now;
  return stopped_ > kPatience;
}

LastSteps::LastSteps(const Context& context, const TreePlan& plan) {
  for (std::size_t node = 1; node < plan.nodes.size(); ++node) {
    const std::size_t index = plan.nodes[node].process;
    if (index == TreeNode::kHelper || context.processes[index].threads.empty()) continue;
    const bool own = rights_of(context, context.processes[index]).uid == ::geteuid();
    (own ? own_ : without_ids_).push_back(node);
  }
  limited_ = !without_ids_.empty();
}

bool LastSteps::own_ones_wait(const SharedReport& report) const {
  return std::all_of(own_.begin(), own_.end(), [&](std::size_t node) {
    return __atomic_load_n(&report.slots()[node].waits, __ATOMIC_RELAXED) != 0;
  });
}

bool LastSteps::take_too_long(const SharedReport& report) {
  const uid_t own = ::geteuid();
  std::erase_if(without_ids_, [&](std::size_t node) {
    const pid_t pid = __atomic_load_n(&report.places()[node].pid, __ATOMIC_ACQUIRE);
    return pid > 0 && has_other_user(read_proc(fmt::format("{}/status", pid)), own);
  });
  const bool others_are_left = limited_ && without_ids_.empty() && own_ones_wait(report);
  if (!others_are_left) since_.reset();
  if (!others_are_left) return false;
  const auto now = std::chrono::steady_clock::now();
  if (!since_) since_ = now;
  return now - *since_ > kPatience;
}

}  // namespace cryo
