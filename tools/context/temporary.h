// SPDX-License-Identifier: GPL-2.0-only
// An unnamed file for what cannot be read where it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <shared_mutex>
#include <span>
#include <string>

#include "base/unique_fd.h"

namespace cryo {

// In $TMPDIR, else in /var/tmp, else in memory.  Where the first is full, what is in it moves to the next, but not into memory.
class TemporaryFile {
 public:
  // A copy of `name`. Throws Error.
  explicit TemporaryFile(const std::string& name);

  // All of `data`. Several threads may write at once.
  void write(std::uint64_t offset, std::span<const std::byte> data) const;
  [[nodiscard]] UniqueFd take() { return std::move(fd_); }

 private:
  [[nodiscard]] bool move_on(int full) const;

  std::string name_;
  mutable std::shared_mutex moving_;  // shared: who writes
  mutable std::string place_;
  mutable UniqueFd fd_;
};

}  // namespace cryo
