// SPDX-License-Identifier: GPL-2.0-only
#include "context/window.h"

#include <algorithm>
#include <cstring>

namespace cryo {
namespace {

constexpr std::uint64_t kLeast = 512;  // two headers of page data, and what is between
constexpr std::uint64_t kMost = 64 << 10;
constexpr std::uint64_t kDirect = 4 << 10;  // is read to where it is wanted

}  // namespace

bool Window::holds(std::uint64_t offset, std::size_t size) const {
  return offset >= start_ && offset - start_ <= size_ && size <= size_ - (offset - start_);
}

// Nothing is cleared first: with sections of page data there is a jump for each.
void Window::move_to(std::uint64_t offset, std::uint64_t least) {
  if (!bytes_) bytes_ = std::make_unique_for_overwrite<std::byte[]>(kMost);
  const bool goes_on = offset >= start_ && offset <= start_ + size_;
  const std::uint64_t ahead = goes_on ? std::min<std::uint64_t>(2 * size_, kMost) : 0;
  size_ = 0;  // should the read fail
  const auto part =
      std::span(bytes_.get(), std::min(std::max({least, ahead, kLeast}), source_.size() - offset));
  source_.read(offset, part);
  size_ = part.size();
  start_ = offset;
}

void Window::read(std::uint64_t offset, std::span<std::byte> to) {
  const bool inside = offset <= source_.size() && to.size() <= source_.size() - offset;
  if (!inside || to.size() >= kDirect) {
    source_.read(offset, to);
    return;
  }
  if (!holds(offset, to.size())) move_to(offset, to.size());
  if (!to.empty()) std::memcpy(to.data(), bytes_.get() + (offset - start_), to.size());
}

}  // namespace cryo
