// SPDX-License-Identifier: GPL-2.0-only
// Whether the kernel has killed processes for want of memory.
#pragma once

#include <cstdint>

namespace cryo {

// How many so far, on this machine, those of control groups at their limit included; 0: that is not known.
[[nodiscard]] std::uint64_t oom_kills();

}  // namespace cryo
