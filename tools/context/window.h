// SPDX-License-Identifier: GPL-2.0-only
// A part of a source in memory, for many small reads that are close to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "context/source.h"

namespace cryo {

// What goes on where the last read has ended is read ahead, in parts that become larger; after a jump they
// are small again. Not for several threads.
class Window {
 public:
  explicit Window(const Source& source) : source_(source) {}

  // As Source::read(), and with its errors.
  void read(std::uint64_t offset, std::span<std::byte> to);

 private:
  [[nodiscard]] bool holds(std::uint64_t offset, std::size_t size) const;
  void move_to(std::uint64_t offset, std::uint64_t least);

  const Source& source_;
  std::unique_ptr<std::byte[]> bytes_;  // room for the most that is read at once
  std::size_t size_ = 0;                // of what is in it
  std::uint64_t start_ = 0;             // of that in the source
};

}  // namespace cryo
