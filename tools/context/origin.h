// SPDX-License-Identifier: GPL-2.0-only
// Which users can have written a context, for a privileged caller.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace cryo {

// Of a file when it was opened: its owner, which users may write to it, and where it is.
struct SourceFile {
  std::uint32_t owner = 0;
  std::uint32_t mode = 0;
  dev_t device = 0;
  ino_t inode = 0;
  dev_t special = 0;  // of a device: which
  // A pipe that was opened by a name, and that this process did not have: /proc/PID/fd/N of another process.
  bool pipe_of_others = false;
  // Type of its file system (statfs(2)), number of the mount (mountinfo); 0: not known.
  std::uint64_t fs_magic = 0;
  std::uint64_t mount_id = 0;
};

// Why a user other than root and the caller can have written it; empty: none can.  A pipe or socket belongs
// to the process that made it.
[[nodiscard]] std::string untrusted_writer(const SourceFile& file);

}  // namespace cryo
