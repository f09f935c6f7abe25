// SPDX-License-Identifier: GPL-2.0-only
// An unnamed file for what cannot be read where it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/unique_fd.h"

namespace cryo {

// In $TMPDIR, else in /var/tmp, else in memory.
class TemporaryFile {
 public:
  // A copy of `name`. Throws Error.
  explicit TemporaryFile(const std::string& name);

  // All of `data`. Several threads may write at once.
  void write(std::uint64_t offset, std::span<const std::byte> data) const;
  [[nodiscard]] UniqueFd take() { return std::move(fd_); }

 private:
  std::string name_;
  std::string place_;
  UniqueFd fd_;
};

}  // namespace cryo
