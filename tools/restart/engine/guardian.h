// SPDX-License-Identifier: GPL-2.0-only
// Removes the named objects that a restart has created when cr_restart is killed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <set>

#include "base/unique_fd.h"

namespace cryo {

struct Context;
class SharedReport;

// Of cr_restart: /dev/cryo, and the handle of its restart.
struct GuardianFds {
  int device;
  int handle;
};

// A child of cr_restart in a session of its own, whose end gives no signal.  If cr_restart ends without
// having ended it, it waits until the processes of the restart have ended as well, and removes what
// CreatedPaths names.  It does nothing if one of them lives on: then the job runs, and all is as it should
// be.  It is no orphan before: whoever has started cr_restart may be a subreaper (libcr), would get it, and
// its end.
class Guardian {
 public:
  // Of so many processes that run again.  Errors: the system's, by exception.  Its pid is none of `wanted`,
  // which the job will have.
  Guardian(const SharedReport& report, std::size_t processes, GuardianFds fds, const std::set<pid_t>& wanted,
           const Context& context);
  // cr_restart cleans up itself, or has nothing to clean up any more.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  UniqueFd self_;  // a pidfd
  UniqueFd line_;  // its end of file is the end of cr_restart: no other process may keep it
};

}  // namespace cryo
