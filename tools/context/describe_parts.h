// SPDX-License-Identifier: GPL-2.0-only
// What the descriptions of all architectures are made of.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "context/describe.h"

namespace cryo {

template <typename T>
[[nodiscard]] std::optional<T> take(std::span<const std::byte> from, std::size_t offset = 0) {
  if (from.size() < offset + sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, from.data() + offset, sizeof(T));
  return value;
}

[[nodiscard]] inline std::string hex(std::uint64_t value) {
  return fmt::format("{:#018x}", value);
}

// One word after the other; those that are not there are left out.
[[nodiscard]] inline NamedValues words(std::span<const std::byte> data, std::span<const char* const> names) {
  NamedValues values;
  std::size_t offset = 0;
  for (const char* name : names) {
    if (const auto value = take<std::uint64_t>(data, offset)) values.emplace_back(name, hex(*value));
    offset += sizeof(std::uint64_t);
  }
  return values;
}

[[nodiscard]] inline NamedValues words(std::span<const std::byte> data,
                                       std::initializer_list<const char*> names) {
  return words(data, std::span<const char* const>(names.begin(), names.size()));
}

}  // namespace cryo
