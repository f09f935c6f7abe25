// SPDX-License-Identifier: GPL-2.0-only
// Decompresses the frames of a zstd file by several threads, each to its place in the copy.
#pragma once

#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "context/seek_table.h"
#include "context/temporary.h"

namespace cryo {

struct FreeDStream {
  void operator()(ZSTD_DStream* stream) const { ::ZSTD_freeDStream(stream); }
};
using DStream = std::unique_ptr<ZSTD_DStream, FreeDStream>;

// Throws Error when there is no memory for it.
[[nodiscard]] DStream make_dstream(const std::string& name);

// Where a frame is, and where what is in it goes.
struct FramePlace {
  std::uint64_t at = 0;  // in the compressed stream
  std::uint64_t packed = 0;
  std::uint64_t to = 0;
  std::uint64_t unpacked = 0;
};

// One frame after the other, for one thread. Sizes are believed only as far as memory of kMostAtOnce goes.
class FrameUnpacker {
 public:
  static constexpr std::size_t kMostAtOnce = 4 << 20;

  FrameUnpacker(const TemporaryFile& copy, const std::string& name)
      : copy_(copy), name_(name), stream_(make_dstream(name)) {}

  void begin(const FramePlace& place);
  // The next bytes of the frame. Throws Error when they are damaged, or hold more than was promised.
  void append(std::span<const std::byte> data);
  // Throws Error when the frame is not complete.
  void end();

 private:
  const TemporaryFile& copy_;
  const std::string& name_;
  DStream stream_;
  std::vector<std::byte> out_;
  FramePlace place_;
  std::uint64_t taken_ = 0;
  std::uint64_t made_ = 0;
  bool complete_ = false;
};

// The frames of a regular file, from `start` on. Throws the first Error of any thread.
void unpack_frames(int fd, std::uint64_t start, std::span<const FrameSizes> frames, const TemporaryFile& copy,
                   const std::string& name);

}  // namespace cryo
