// SPDX-License-Identifier: GPL-2.0-only
#include "restart/engine/last_steps.h"

#include <signal.h>
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

}  // namespace

LastSteps::LastSteps(const Context& context, const TreePlan& plan) {
  for (std::size_t node = 1; node < plan.nodes.size(); ++node) {
    const std::size_t index = plan.nodes[node].process;
    if (index == TreeNode::kHelper || context.processes[index].threads.empty()) continue;
    if (rights_of(context, context.processes[index]).uid == ::geteuid()) {
      nodes_.clear();
      break;
    }
    nodes_.push_back(node);
  }
  limited_ = !nodes_.empty();
}

bool LastSteps::take_too_long(std::span<const Place> places) {
  const uid_t own = ::geteuid();
  std::erase_if(nodes_, [&](std::size_t node) {
    const pid_t pid = __atomic_load_n(&places[node].pid, __ATOMIC_ACQUIRE);
    if (pid <= 0) return false;
    const std::string status = read_proc(fmt::format("{}/status", pid));
    if (has_other_user(status, own)) return true;
    // By a process with the ids that it, or a thread of it, has had for a moment.
    if (status.find("\nState:\tT (stopped)") != std::string::npos) ::kill(pid, SIGCONT);
    return false;
  });
  if (!limited_ || !nodes_.empty()) return false;
  const auto now = std::chrono::steady_clock::now();
  if (!since_) since_ = now;
  return now - *since_ > kLimit;
}

}  // namespace cryo
