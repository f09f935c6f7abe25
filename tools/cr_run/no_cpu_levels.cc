// SPDX-License-Identifier: GPL-2.0-only
// For architectures without levels that the C library can be kept to.
#include "cr_run/cpu_levels.h"

namespace cryo {

std::span<const CpuLevel> cpu_levels() {
  return {};
}

}  // namespace cryo
