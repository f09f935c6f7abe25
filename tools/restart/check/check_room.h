// SPDX-License-Identifier: GPL-2.0-only
// Whether there is room for what a restart writes: in file systems, and in memory.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "restart/check/check.h"

namespace cryo {

// Bytes of each inode's contents in the context, without holes.
using ContentsSizes = std::map<std::uint32_t, std::uint64_t>;
[[nodiscard]] ContentsSizes contents_sizes(const Context& context);

// Files whose contents a restart writes.  Problems are certain: where a file system may take less room than
// that, there is a warning. Returns inodes that take memory instead: memfds, files in a tmpfs, what can be
// made nowhere else.
[[nodiscard]] std::set<std::uint32_t> check_room(const Context& context, const RestartOptions& options,
                                                 const Creds& own, const ContentsSizes& sizes,
                                                 Findings& findings);

// Memory that the job takes, in bytes.
struct MemoryNeeds {
  std::uint64_t all = 0;
  std::map<std::string, std::uint64_t>
      groups;  // of these by control group (its directory), those above included
};
[[nodiscard]] MemoryNeeds memory_needs(const Context& context, const RestartOptions& options,
                                       const ContentsSizes& sizes, const std::set<std::uint32_t>& inodes);

// What can be had of it, in bytes; kNoLimit: that is not known, or no matter.
struct MemoryRoom {
  std::uint64_t machine;
  std::map<std::string, std::uint64_t> groups;
};
[[nodiscard]] MemoryRoom memory_room(const MemoryNeeds& needs);

// Warnings only: what is used by others may be given back, and the job may need less.
void check_free_memory(const MemoryNeeds& needs, const MemoryRoom& room, Findings& findings);

}  // namespace cryo
