// SPDX-License-Identifier: GPL-2.0-only
// Where the frames of a zstd stream end, told without decompressing them: by the sizes of their blocks
// (doc/zstd_compression_format.md of zstd's sources; RFC 8878, section 3.1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cryo {

// What a byte of a frame can become: a block has at most 128 KiB, and at least 4 bytes in the file.
inline constexpr std::uint64_t kMostPerByte = (128 << 10) / 4;

class FrameScanner {
 public:
  // The next bytes of the stream: returns how many of them belong to the frame. Not all only when the frame
  // is complete with them, or they are none of zstd's.
  [[nodiscard]] std::size_t scan(std::span<const std::byte> data);

  [[nodiscard]] bool complete() const { return state_ == State::kComplete; }
  [[nodiscard]] bool broken() const { return state_ == State::kBroken; }
  // What the frame says that it holds, once its header has been seen; skippable frames hold nothing.
  [[nodiscard]] std::optional<std::uint64_t> contents() const { return contents_; }
  [[nodiscard]] bool header_seen() const { return header_seen_; }

 private:
  enum class State {
    kMagic,
    kSkippableSize,
    kDescriptor,
    kHeader,
    kBlockHeader,
    kBody,
    kChecksum,
    kComplete,
    kBroken
  };

  void expect(State state, std::size_t bytes);
  void take_field();
  void take_magic();
  void take_descriptor();
  void take_header();
  void take_block_header();
  void end_of_body();
  [[nodiscard]] std::uint64_t number(std::size_t from, std::size_t size) const;

  State state_ = State::kMagic;
  std::array<std::byte, 16> field_{};  // what is read now, unless it is a body
  std::size_t have_ = 0;
  std::uint64_t need_ = 4;  // of the field, or what is left of the body
  std::uint8_t descriptor_ = 0;
  bool last_block_ = false;
  bool header_seen_ = false;
  std::optional<std::uint64_t> contents_;
};

}  // namespace cryo
