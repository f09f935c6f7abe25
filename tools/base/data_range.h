// SPDX-License-Identifier: GPL-2.0-only
// What of a file is not a hole.
#pragma once

#include <cstdint>
#include <optional>

namespace cryo {

// What is not a hole, of the first such range from `offset` to the end, at `size`.
struct DataRange {
  std::uint64_t start, end;
};
[[nodiscard]] std::optional<DataRange> next_data(int fd, std::uint64_t offset, std::uint64_t size);
// How much of that there is.
[[nodiscard]] std::uint64_t data_behind(int fd, std::uint64_t offset, std::uint64_t size);

}  // namespace cryo
