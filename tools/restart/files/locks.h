// SPDX-License-Identifier: GPL-2.0-only
// File locks.
#pragma once

#include <map>
#include <vector>

#include "context/model.h"
#include "restart/stub/calls.h"
#include "restart/stub/stub_area.h"

namespace cryo {

struct FileStore;

// Locks and leases of open files, by the process that is to take each: the kernel notes who did.
[[nodiscard]] std::map<std::size_t, std::vector<cryo_lock>> share_file_locks(const Context& context,
                                                                             const FileStore& store);

// In a process: of these flock(2) and F_OFD_SETLK.  Files that it does not have are those of the store.
void take_file_locks(const Context& context, const std::vector<cryo_lock>& locks,
                     const std::map<std::uint32_t, int>& fds, const FileStore& store);

// Leases, which cannot be had while somebody else has the file open.
void plan_leases(const std::vector<cryo_lock>& locks, const std::map<std::uint32_t, int>& fds,
                 CallList& calls);
// Locks of the process (F_SETLK), which are lost when any descriptor of the file is closed: the stub takes
// them after its last close, by those of `fds` that it still has then.
void plan_process_locks(const Context& context, const std::vector<cryo_lock>& locks,
                        const std::map<std::uint32_t, int>& fds, CallList& calls, StubArea& area);

}  // namespace cryo
