// SPDX-License-Identifier: GPL-2.0-only
// Turns a forked process into a saved one.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <vector>

#include "context/model.h"
#include "restart/common/options.h"
#include "restart/files/files.h"
#include "restart/memory/inherited_memory.h"
#include "restart/memory/mapped.h"
#include "restart/memory/shared_memory.h"
#include "restart/stub/address_space.h"
#include "restart/stub/shared_report.h"
#include "restart/stub/stub.h"

namespace cryo {

// Of a process whose memory others have, too.
struct SharedLife {
  std::vector<std::size_t> before;       // nodes of those that are in the stub before it prepares itself
  std::optional<std::size_t> memory_of;  // node of the one that makes the memory; none: it does so itself
  std::vector<AddressRange>& areas;      // stub areas of those before it
};

// What the maker leaves to all processes of the job.
struct ChildInput {
  const Context& context;
  const RestartOptions& options;
  const std::vector<std::int32_t>& nice_not_permitted;  // tids
  const FileRestoreInput& file_input;
  const FileStore& files;
  const SharedMemory& shared;
  const std::vector<int>& context_fds;  // parked, as the next two
  int handle_fd = -1;
  int device_fd = -1;  // -1: none
  pid_t coordinator = 0;
  Shared common{};
  std::size_t slots = 0;           // of the report
  std::uint32_t nr_processes = 0;  // that run again
  const SharedLife& shared_life;
  const MappedMemory& mapped;
  const InheritedMemory& inherited;
  const std::set<std::size_t>& of_exited_leaders;  // those whose parent's first thread has exited
};

// Does not return: the caller becomes process `index` of the context, or leaves a report and exits.
[[noreturn]] void become_saved_process(const ChildInput& input, std::size_t index, std::size_t slot);

}  // namespace cryo
