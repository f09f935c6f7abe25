// SPDX-License-Identifier: GPL-2.0-only
// pidfds: those of processes of the job can be made only when these exist, each by the first process that
// uses it; the others take it from a message.
#pragma once

#include <sys/types.h>

#include <map>
#include <vector>

#include "base/unique_fd.h"
#include "context/model.h"
#include "restart/common/descriptors.h"

namespace cryo {

// Of a process that will exist.
[[nodiscard]] bool is_late_pidfd(const File& file);

// In the maker: of processes that have ended and been waited for, one for each inode.  They are waited for
// when this goes.
class GoneProcesses {
 public:
  GoneProcesses() = default;
  GoneProcesses(const GoneProcesses&) = delete;
  GoneProcesses& operator=(const GoneProcesses&) = delete;
  ~GoneProcesses();

  [[nodiscard]] UniqueFd open(const File& file);

 private:
  std::map<std::uint32_t, pid_t> ended_;  // by inode
};

// How the open file gets from one process to the others.
struct PidfdSharing {
  std::vector<std::size_t> users;  // indices of processes, ascending; the first makes it
  UniqueFd in, out;                // a pair of sockets, where there are several users
};

// In the maker, by file: those that are made late.
[[nodiscard]] std::map<std::uint32_t, PidfdSharing> share_pidfds(
    const Context& context, const std::map<std::uint32_t, std::size_t>& kept_by,
    const Descriptors& descriptors);

// In each process, when all exist: its pidfds, parked.
[[nodiscard]] std::map<std::uint32_t, UniqueFd> take_pidfds(
    const Context& context, const Descriptors& descriptors,
    const std::map<std::uint32_t, PidfdSharing>& sharing, std::size_t process);

}  // namespace cryo
