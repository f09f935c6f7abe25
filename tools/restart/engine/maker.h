// SPDX-License-Identifier: GPL-2.0-only
// The maker: a child of cr_restart that makes what the processes of the job share, forks them, and goes.
#pragma once

#include <sys/types.h>

#include <vector>

#include "context/model.h"
#include "restart/common/options.h"
#include "restart/files/fanotify.h"
#include "restart/files/other_uses.h"
#include "restart/memory/inherited_pages.h"
#include "restart/memory/mapped.h"
#include "restart/process/tree_plan.h"
#include "restart/stub/shared_report.h"

namespace cryo {

struct MakerInput {
  const Context& context;
  const RestartOptions& options;
  const TreePlan& plan;
  std::vector<std::int32_t> nice_not_permitted;  // tids
  std::vector<int> context_fds{};                // of the context, and of those that have bytes of its pages
  int handle_fd = -1;
  int device_fd = -1;
  const FanotifyGroups* fanotify = nullptr;
  const OtherUses* other_uses = nullptr;
  Shared shared{};                 // with a slot and a place per node
  std::uint32_t nr_processes = 0;  // that run again
  pid_t coordinator = 0;
  const MappedMemory* mapped = nullptr;
  const InheritedPages* inherited = nullptr;
};

// In a child of cr_restart; does not return. The maker exits with status 0 when all processes are forked.
[[noreturn]] void make_job(const MakerInput& input);

}  // namespace cryo
