// SPDX-License-Identifier: GPL-2.0-only
// Which pages of memory there are in a context and its ancestors, and where: found by their addresses.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "context/model.h"

namespace cryo {

// Consecutive pages whose bytes are consecutive, too.
struct PageStretch {
  std::uint64_t start = 0;  // address
  std::uint64_t end = 0;
  std::uint32_t file = 0;    // number of the context that has the bytes
  std::uint64_t offset = 0;  // of the first page's
};

class PageMap {
 public:
  PageMap() = default;
  explicit PageMap(const Context& context);

  // Those of a memory of the context that have a part of [start, end): ascending, cut to it.
  [[nodiscard]] std::vector<PageStretch> find(std::uint32_t mm, std::uint64_t start, std::uint64_t end) const;

  [[nodiscard]] std::uint64_t pages() const { return pages_; }

 private:
  std::map<std::uint32_t, std::vector<PageStretch>> memories_;  // ascending by address
  std::uint64_t pages_ = 0;
};

}  // namespace cryo
