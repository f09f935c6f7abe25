// SPDX-License-Identifier: GPL-2.0-only
// Compressed frames in a file, and their table behind them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "context/seek_table.h"

namespace cryo {

class FrameFile {
 public:
  // `name` is for messages. At the disk's pace: a frame waits until the disk has most of those before it. So
  // the time that frames take is that of the disk, not of the memory in which the kernel would gather them.
  FrameFile(int fd, std::string name, bool at_disk_pace);

  void append(std::span<const std::byte> frame, std::size_t unpacked);
  // After the last frame.
  void finish() { write(make_seek_table(frames_)); }

  [[nodiscard]] std::uint64_t packed_bytes() const { return packed_; }
  [[nodiscard]] std::uint64_t unpacked_bytes() const { return unpacked_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  void write(std::span<const std::byte> data);
  void keep_pace(std::size_t size);
  void sync_range(off_t from, off_t size, unsigned int flags);

  int fd_;
  std::string name_;
  bool at_disk_pace_;
  std::deque<std::pair<off_t, off_t>> on_their_way_;  // to the disk: offset and size
  std::vector<FrameSizes> frames_;
  std::uint64_t packed_ = 0;
  std::uint64_t unpacked_ = 0;
};

}  // namespace cryo
