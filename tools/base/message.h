// SPDX-License-Identifier: GPL-2.0-only
// Messages of the tools on standard error.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace cryo {

// One line, "TOOL: text". That it cannot be written (a closed pipe, a full disk) changes nothing about the
// outcome, so that is no error, where fmt::print() would throw.
template <typename... Args>
void message(std::string_view tool, fmt::format_string<Args...> format, Args&&... args) {
  const std::string line = fmt::format("{}: {}\n", tool, fmt::format(format, std::forward<Args>(args)...));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace cryo
