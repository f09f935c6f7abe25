// SPDX-License-Identifier: GPL-2.0-only
#include "context/frame_scanner.h"

#include <algorithm>

namespace cryo {
namespace {

constexpr std::uint32_t kFrameMagic = 0xFD2FB528;
constexpr std::uint32_t kSkippableMagic = 0x184D2A50;  // to ...5F

// Bits of a frame's descriptor.
constexpr std::uint8_t kSingleSegment = 0x20;
constexpr std::uint8_t kHasChecksum = 0x04;

std::size_t window_bytes(std::uint8_t descriptor) {
  return (descriptor & kSingleSegment) != 0 ? 0 : 1;
}

std::size_t dictionary_bytes(std::uint8_t descriptor) {
  constexpr std::size_t kBytes[] = {0, 1, 2, 4};
  return kBytes[descriptor & 3];
}

std::size_t size_bytes(std::uint8_t descriptor) {
  const unsigned int flag = descriptor >> 6;
  return flag == 0 ? 1 - window_bytes(descriptor) : std::size_t{1} << flag;
}

}  // namespace

void FrameScanner::expect(State state, std::size_t bytes) {
  state_ = state;
  have_ = 0;
  need_ = bytes;
}

std::uint64_t FrameScanner::number(std::size_t from, std::size_t size) const {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value |= std::to_integer<std::uint64_t>(field_[from + i]) << (8 * i);
  return value;
}

std::size_t FrameScanner::scan(std::span<const std::byte> data) {
  std::size_t done = 0;
  while (!complete() && !broken() && done < data.size()) {
    const std::size_t part =
        std::min<std::uint64_t>(need_ - (state_ == State::kBody ? 0 : have_), data.size() - done);
    if (state_ == State::kBody) {
      need_ -= part;
      if (need_ == 0) end_of_body();
    } else {
      std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(done), part,
                  field_.begin() + static_cast<std::ptrdiff_t>(have_));
      have_ += part;
      if (have_ == need_) take_field();
    }
    done += part;
  }
  return done;
}

void FrameScanner::take_field() {
  switch (state_) {
    case State::kMagic:
      return take_magic();
    case State::kSkippableSize:
      last_block_ = true;
      descriptor_ = 0;
      contents_ = 0;
      header_seen_ = true;
      need_ = number(0, 4);
      state_ = State::kBody;
      if (need_ == 0) end_of_body();
      return;
    case State::kDescriptor:
      return take_descriptor();
    case State::kHeader:
      return take_header();
    case State::kBlockHeader:
      return take_block_header();
    default:
      state_ = State::kComplete;  // the checksum was the last
  }
}

void FrameScanner::take_magic() {
  const std::uint64_t magic = number(0, 4);
  if (magic == kFrameMagic)
    expect(State::kDescriptor, 1);
  else if ((magic & ~std::uint64_t{15}) == kSkippableMagic)
    expect(State::kSkippableSize, 4);
  else
    state_ = State::kBroken;
}

void FrameScanner::take_descriptor() {
  descriptor_ = static_cast<std::uint8_t>(number(0, 1));
  const std::size_t rest =
      window_bytes(descriptor_) + dictionary_bytes(descriptor_) + size_bytes(descriptor_);
  expect(State::kHeader, rest);  // never nothing: without a window there is a size
}

void FrameScanner::take_header() {
  const std::size_t size = size_bytes(descriptor_);
  constexpr std::uint64_t kLeastInTwoBytes = 256;
  if (size != 0)
    contents_ = number(window_bytes(descriptor_) + dictionary_bytes(descriptor_), size) +
                (size == 2 ? kLeastInTwoBytes : 0);
  header_seen_ = true;
  expect(State::kBlockHeader, 3);
}

void FrameScanner::take_block_header() {
  enum : unsigned int { kRaw, kRepeated, kCompressed, kReserved };
  const std::uint64_t head = number(0, 3);
  last_block_ = (head & 1) != 0;
  const unsigned int type = (head >> 1) & 3;
  if (type == kReserved) {
    state_ = State::kBroken;
    return;
  }
  need_ = type == kRepeated ? 1 : head >> 3;
  state_ = State::kBody;
  if (need_ == 0) end_of_body();
}

void FrameScanner::end_of_body() {
  if (!last_block_)
    expect(State::kBlockHeader, 3);
  else if ((descriptor_ & kHasChecksum) != 0)
    expect(State::kChecksum, 4);
  else
    state_ = State::kComplete;
}

}  // namespace cryo
