// SPDX-License-Identifier: GPL-2.0-only
// Two restarts of one context at one moment, with the same ids: the second looks at files, and at who has the ids, when the first is
// through.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace cryo {

// Waits for another restart to get through, not for ever: anybody who may read the file can lock it.  Where it cannot be locked (NFS wants
// it open for writing), there is nothing to wait for.  The lock is given back at the end, whoever has inherited the descriptor.
class ContextLock {
 public:
  explicit ContextLock(const std::string& file) {
    struct stat status;
    if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    fd_.reset(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    constexpr std::chrono::milliseconds kLap{10};
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (fd_ && ::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(kLap);
  }
  ~ContextLock() {
    if (fd_) ::flock(fd_.get(), LOCK_UN);
  }
  ContextLock(const ContextLock&) = delete;
  ContextLock& operator=(const ContextLock&) = delete;

 private:
  UniqueFd fd_;
};

}  // namespace cryo
