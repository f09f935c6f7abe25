// SPDX-License-Identifier: GPL-2.0-only
// A process that becomes a saved one.
#pragma once

#include <sys/types.h>

#include <vector>

#include "context/model.h"
#include "restart/files.h"
#include "restart/options.h"
#include "restart/shared_memory.h"
#include "restart/stub.h"

namespace cryo {

// What the maker leaves to all processes of the job.
struct ChildInput {
  const Context& context;
  const RestartOptions& options;
  const std::vector<std::int32_t>& nice_not_permitted;  // tids
  const FileRestoreInput& file_input;
  const FileStore& files;
  const SharedMemory& shared;
  int context_fd = -1;  // parked, all three
  int handle_fd = -1;
  int device_fd = -1;  // -1: none
  stub::Report* report = nullptr;
  std::size_t report_size = 0;  // bytes, with its slots
};

// Does not return: the caller becomes process `index` of the context, or leaves a report and exits.
[[noreturn]] void become(const ChildInput& input, std::size_t index, std::size_t slot);

}  // namespace cryo
