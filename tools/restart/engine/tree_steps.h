// SPDX-License-Identifier: GPL-2.0-only
// Takes the steps of a TreePlan: this code runs in the maker and, after each fork, in the process forked.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <exception>
#include <functional>

#include "context/model.h"
#include "restart/common/options.h"
#include "restart/ns/namespaces.h"
#include "restart/ns/pid_namespaces.h"
#include "restart/process/tree_plan.h"
#include "restart/stub/shared_report.h"

namespace cryo {

struct TreeRunInput {
  const Context& context;
  const TreePlan& plan;
  const Namespaces& namespaces;
  const PidNamespaces& pid_namespaces;
  Shared shared;       // with a slot and a place per node
  int device_fd = -1;  // for the module's pid cursor
  int handle_fd = -1;
  pid_t coordinator = 0;
  bool restore_pid = true;
  // In the process that is about to fork in a step.
  std::function<void(std::size_t node, std::size_t step)> before_fork;
  // In one that has begun a session, and has not forked since.
  std::function<void(std::size_t node)> in_session;
  // Of a process that shares memory with whoever forked it, and of its children: run_tree() does not return
  // there, but calls this with the node. Does not return, and does not throw.
  std::function<void(std::size_t node)> live;
  std::function<void(std::size_t node, const std::exception& error)> report_failure;
};

// In the maker.  Returns in every process that is to become one of the job, with its node, when all
// processes exist; and in the maker, with kMaker, when its own steps are done.  Helpers and those that
// had exited when they were saved do not come back.  Throws Error.
[[nodiscard]] std::size_t run_tree(const TreeRunInput& input);

}  // namespace cryo
