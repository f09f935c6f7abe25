// SPDX-License-Identifier: GPL-2.0-only
// Unpredictable parts of file names.
#pragma once

#include <fmt/format.h>
#include <sys/random.h>

#include <cstdint>
#include <string>

#include "base/error.h"

namespace cryo {

inline std::string random_part() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) fail_errno("getrandom");
  return fmt::format("{:016x}", number);
}

}  // namespace cryo
