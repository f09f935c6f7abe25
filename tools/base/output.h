// SPDX-License-Identifier: GPL-2.0-only
// Writes to a descriptor in large parts.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace cryo {

class Output {
 public:
  // `name` is for messages.
  Output(int fd, std::string name) : fd_(fd), name_(std::move(name)) { buffer_.reserve(kBuffer); }

  void write(std::span<const std::byte> data) {
    if (buffer_.size() + data.size() > kBuffer) flush();
    if (data.size() >= kBuffer)
      write_all(data);
    else
      buffer_.insert(buffer_.end(), data.begin(), data.end());
  }

  void flush() {
    write_all(buffer_);
    buffer_.clear();
  }

 private:
  static constexpr std::size_t kBuffer = 1 << 20;

  void write_all(std::span<const std::byte> data) const {
    while (!data.empty()) {
      const ssize_t done = ::write(fd_, data.data(), data.size());
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) fail_errno("cannot write to {}", name_);
      data = data.subspan(static_cast<std::size_t>(done));
    }
  }

  int fd_;
  std::string name_;
  std::vector<std::byte> buffer_;
};

}  // namespace cryo
