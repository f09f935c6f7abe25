// SPDX-License-Identifier: GPL-2.0-only
// Signals by number and by name, as kill(1) takes them.
#pragma once

#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/parse.h"

namespace cryo {

// "15", "TERM", "SIGTERM", "RTMIN+1", "RTMAX-1"; nothing for what is none.
[[nodiscard]] inline std::optional<int> parse_signal(std::string_view text) {
  if (const auto number = parse_number<int>(text, 1, SIGRTMAX)) return number;
  if (text.starts_with("SIG")) text.remove_prefix(3);
  for (int signal = 1; signal < SIGRTMIN; ++signal)
    if (const char* name = ::sigabbrev_np(signal); name != nullptr && text == name) return signal;
  const bool lowest = text.starts_with("RTMIN");
  if (!lowest && !text.starts_with("RTMAX")) return std::nullopt;
  text.remove_prefix(5);
  const int from = lowest ? SIGRTMIN : SIGRTMAX;
  if (text.empty()) return from;
  if (text.front() != (lowest ? '+' : '-')) return std::nullopt;
  const auto distance = parse_number<int>(text.substr(1), 0, SIGRTMAX - SIGRTMIN);
  if (!distance) return std::nullopt;
  return lowest ? from + *distance : from - *distance;
}

}  // namespace cryo
