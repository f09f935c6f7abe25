// SPDX-License-Identifier: GPL-2.0-only
// Numbers in arguments and in files of /proc.
#pragma once

#include <charconv>
#include <concepts>
#include <limits>
#include <optional>
#include <string_view>

namespace cryo {

// The whole of `text` as a decimal number within the limits, or nothing: no sign, space or rest is let pass.
template <std::integral T>
[[nodiscard]] std::optional<T> parse_number(std::string_view text, T min = 0,
                                            T max = std::numeric_limits<T>::max()) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, 10);
  if (error != std::errc() || rest != end || value < min || value > max) return std::nullopt;
  return value;
}

}  // namespace cryo
