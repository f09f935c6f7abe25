// SPDX-License-Identifier: GPL-2.0-only
// A child with the pid that it had.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>

#include "base/unique_fd.h"

namespace cryo {

struct Spawned {
  pid_t pid = -1;
  UniqueFd pidfd;
  std::optional<pid_t> cursor;  // where the pid cursor stood, if it was moved
};

// `wanted` 0: any pid.  With CAP_CHECKPOINT_RESTORE the kernel gives the pid asked for; for others the
// module's pid cursor does (`device_fd`).  `child` must not return.  Throws Error (EBUSY).
[[nodiscard]] Spawned spawn(pid_t wanted, int device_fd, const std::function<void()>& child);

// Puts the cursor back.
void restore_cursor(const Spawned& spawned, int device_fd);

}  // namespace cryo
