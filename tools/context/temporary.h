// SPDX-License-Identifier: GPL-2.0-only
// An unnamed file for what cannot be read where it is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <shared_mutex>
#include <span>
#include <string>

#include "base/unique_fd.h"

namespace cryo {

// In $TMPDIR, else in /var/tmp, else in memory.  Where the first is full, what is in it moves to the next,
// but not into memory.  A privileged caller, whose writes go on where those of others end, leaves them some
// room: for him it is full before.
class TemporaryFile {
 public:
  // A copy of `name`. Throws Error.
  explicit TemporaryFile(const std::string& name);

  // All of `data`. Several threads may write at once.
  void write(std::uint64_t offset, std::span<const std::byte> data) const;
  [[nodiscard]] UniqueFd take() { return std::move(fd_); }

 private:
  [[nodiscard]] bool move_on(int full) const;
  [[nodiscard]] bool leaves_room(int fd, std::size_t bytes) const;

  std::string name_;
  mutable std::shared_mutex moving_;  // shared: writers
  mutable std::string place_;
  mutable UniqueFd fd_;
  bool leaves_room_;
  mutable std::atomic<std::int64_t> until_look_ =
      0;  // bytes that can be written before the file system is asked again
};

}  // namespace cryo
