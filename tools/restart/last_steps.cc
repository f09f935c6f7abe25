// SPDX-License-Identifier: GPL-2.0-only
#include "restart/last_steps.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/error.h"
#include "restart/names.h"
#include "restart/proc_files.h"

namespace cryo {
namespace {

// It has not, where that cannot be seen.
bool has_other_user(pid_t pid, uid_t own) {
  constexpr const char* kLine = "\nUid:";
  const std::string status = read_proc(fmt::format("{}/status", pid));
  const std::size_t line = status.find(kLine);
  unsigned effective = 0;
  return line != std::string::npos && std::sscanf(status.c_str() + line, " Uid: %*u %u", &effective) == 1 &&
         effective != own;
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
    return pid > 0 && has_other_user(pid, own);
  });
  if (!limited_ || !nodes_.empty()) return false;
  const auto now = std::chrono::steady_clock::now();
  if (!since_) since_ = now;
  return now - *since_ > kLimit;
}

}  // namespace cryo
