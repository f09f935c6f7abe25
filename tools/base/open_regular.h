// SPDX-License-Identifier: GPL-2.0-only
// Opens a regular file by a name chosen by someone else: nothing else is opened, even briefly, as open(2)
// alone starts a watchdog, rewinds a tape or releases the writer of a FIFO.
#pragma once

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace cryo {

// Regular by its mode only: reading is an action, and may wait.
inline bool is_kernel_interface(std::uint64_t magic) {
  return magic == PROC_SUPER_MAGIC || magic == SYSFS_MAGIC || magic == TRACEFS_MAGIC ||
         magic == DEBUGFS_MAGIC;
}

inline bool is_kernel_interface(const struct statfs& system) {
  return is_kernel_interface(static_cast<std::uint64_t>(system.f_type));
}

// For reading.  None, with errno; ESTALE: it is something else.
inline UniqueFd open_regular(const std::string& path) {
  const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat now {};
  struct statfs system {};
  if (!place || ::fstat(place.get(), &now) != 0 || ::fstatfs(place.get(), &system) != 0) return {};
  if (!S_ISREG(now.st_mode) || is_kernel_interface(system)) {
    errno = ESTALE;
    return {};
  }
  return UniqueFd(
      ::open(("/proc/self/fd/" + std::to_string(place.get())).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

}  // namespace cryo
