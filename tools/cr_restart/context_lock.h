// SPDX-License-Identifier: GPL-2.0-only
// Two restarts of one context at one moment, with the same ids: the second looks at files, and at who has the
// ids, when the first is through.
#pragma once

#include <functional>
#include <string>

#include "base/unique_fd.h"

namespace cryo {

// Waits for another restart of the caller's to get through, however long that takes; for whoever else has
// locked the file 10 s, as anybody who may read it can.  Where it cannot be locked (NFS wants it open for
// writing), or the caller's own caller has (flock(1)), there is nothing to wait for.  Given back at the end,
// whoever has inherited the descriptor.
class ContextLock {
 public:
  // `say` is told what it waits for, when that takes more than a second, and that it has not come.  Throws
  // Error: EINTR, a signal is to end the restart.
  ContextLock(const std::string& file, const std::function<void(const std::string&)>& say);
  ~ContextLock();
  ContextLock(const ContextLock&) = delete;
  ContextLock& operator=(const ContextLock&) = delete;

 private:
  UniqueFd fd_;
};

}  // namespace cryo
