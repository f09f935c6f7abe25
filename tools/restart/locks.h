// SPDX-License-Identifier: GPL-2.0-only
// File locks.
#pragma once

#include <map>

#include "context/model.h"
#include "restart/calls.h"
#include "restart/stub_area.h"

namespace cryo {

// Those that belong to open files: flock(2) and F_OFD_SETLK.
void take_file_locks(const Context& context, const Process& process, const std::map<std::uint32_t, int>& fds);

// Those of the process (F_SETLK), which are lost when any descriptor of the file is closed, and leases, which
// cannot be had while somebody else has the file open: the stub takes them after its last close.
void plan_process_locks(const Process& process, const std::map<std::uint32_t, int>& fds, CallList& calls,
                        StubArea& area);

}  // namespace cryo
