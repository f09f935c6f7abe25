// SPDX-License-Identifier: GPL-2.0-only
// --version, the same for all tools.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace cryo {

inline void print_version(std::string_view tool) {
  fmt::print("{} (Cryo) {}\n", tool, PACKAGE_VERSION);
}

}  // namespace cryo
