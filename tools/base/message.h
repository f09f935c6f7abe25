// SPDX-License-Identifier: GPL-2.0-only
// Messages of the tools on standard error.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace cryo {

// Names of files and processes may be chosen by any user: bytes upon which a terminal would act, as \xNN.
[[nodiscard]] inline std::string without_controls(std::string_view text) {
  std::string result;
  int following = 0;  // bytes that belong to the one before
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool control_in_utf8 = byte == 0xc2 && next >= 0x80 && next < 0xa0;
    const bool continues = (byte & 0xc0) == 0x80 && following > 0;
    following = control_in_utf8 ? 0
                : continues     ? following - 1
                : byte >= 0xf0  ? 3
                : byte >= 0xe0  ? 2
                : byte >= 0xc2  ? 1
                                : 0;
    // Terminals that do not take UTF-8 know 0x80 to 0x9f as well.
    if (byte < 0x20 || byte == 0x7f || control_in_utf8 || (byte >= 0x80 && byte < 0xa0 && !continues))
      result += fmt::format("\\x{:02x}", byte);
    else
      result += text[i];
  }
  return result;
}

// One line, "TOOL: text". That it cannot be written (a closed pipe, a full disk) changes nothing about the
// outcome, so that is no error, where fmt::print() would throw.
template <typename... Args>
void message(std::string_view tool, fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = without_controls(fmt::format(format, std::forward<Args>(args)...));
  const std::string line = fmt::format("{}: {}\n", tool, text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace cryo
