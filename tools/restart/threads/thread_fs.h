// SPDX-License-Identifier: GPL-2.0-only
// Root directories other than the usual one, and working directories and umasks that threads do not share
// with their process.
//
// A new thread shares those of the thread that creates it.  So the leader, which creates all, takes on
// those of each group of threads in turn, unshares, and comes to its own at last.
#pragma once

#include <vector>

#include "base/unique_fd.h"
#include "context/model.h"
#include "restart/common/options.h"
#include "restart/stub/calls.h"
#include "restart/stub/stub_area.h"

namespace cryo {

struct FileStore;

// The caller's working directory becomes that of the process; one that has been removed is in `store`. The
// name is that of who is said to have it (names.h).  `created_ns`: of the context.
void restore_cwd(const Process& process, const RestartOptions& options, const FileStore& store,
                 std::uint64_t created_ns);

class ThreadDirectories {
 public:
  // Opens them all, at numbers that the process does not have; leaves the caller in some other directory
  // than it was in.  Throws Error.
  ThreadDirectories(const Process& process, const RestartOptions& options, const FileStore& store,
                    std::uint64_t created_ns);
  // When the caller has the process's own working directory.
  void note_own(const RestartOptions& options, std::uint64_t created_ns);

  // Those that are open, until plan_after() closes them.
  [[nodiscard]] std::vector<int> descriptors() const;

  // Threads, by index, in the order in which they are to be created: the leader first.
  [[nodiscard]] std::vector<std::uint32_t> order() const;
  // What the leader does before it creates the thread `index`, the one after `previous`.
  void plan_before(std::uint32_t index, std::uint32_t previous, CallList& calls, StubArea& area) const;
  // By the leader when the last one, `last`, is there.
  void plan_after(std::uint32_t last, CallList& calls, StubArea& area) const;

 private:
  struct Directory {
    std::int32_t owner;  // tid; 0: the process
    UniqueFd fd;
    UniqueFd root;  // nothing: no thread of the process has another one than the usual one
    std::uint32_t umask;
  };

  [[nodiscard]] bool empty() const { return directories_.empty(); }
  [[nodiscard]] std::int32_t owner_of(std::uint32_t index) const;
  void add(std::int32_t owner, std::uint32_t umask, UniqueFd root);
  [[nodiscard]] UniqueFd root_of(const Thread& thread, const RestartOptions& options,
                                 std::uint64_t created_ns) const;
  void plan_change(std::int32_t owner, CallList& calls, StubArea& area) const;
  void plan_directories(std::int32_t owner, CallList& calls, StubArea& area) const;

  const Process& process_;
  bool other_roots_;
  std::vector<Directory> directories_;
};

}  // namespace cryo
