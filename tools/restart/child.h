// SPDX-License-Identifier: GPL-2.0-only
// The child that becomes the saved process.
#pragma once

#include <sys/types.h>

#include <vector>

#include "context/model.h"
#include "restart/options.h"
#include "restart/stub.h"

namespace cryo {

struct ChildInput {
  const Context& context;
  const Process& process;
  const RestartOptions& options;
  std::vector<std::int32_t> nice_not_permitted;
  int context_fd = -1;
  int handle_fd = -1;
  int device_fd = -1;
  stub::Report* report = nullptr;  // shared with the parent
  pid_t parent = 0;
};

// Does not return: the child becomes the saved process, or leaves a report and exits.
[[noreturn]] void become(const ChildInput& input);

}  // namespace cryo
