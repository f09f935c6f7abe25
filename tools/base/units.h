// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

namespace cryo {

inline constexpr std::int64_t kNsPerSec = 1'000'000'000;

}  // namespace cryo
