// SPDX-License-Identifier: GPL-2.0-only
// The module's device.
#pragma once

#include <cstdint>

#include "base/unique_fd.h"

namespace cryo {

struct OpenDevice {
  UniqueFd fd;
  std::uint64_t features = 0;  // CRYO_FEATURE_*
};
// Throws Error: ENOSYS where the module is not loaded, kErrVersion where it is not of this version.
[[nodiscard]] OpenDevice open_device();

}  // namespace cryo
