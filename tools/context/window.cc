// SPDX-License-Identifier: GPL-2.0-only
#include "context/window.h"

#include <algorithm>
#include <cstring>

namespace cryo {
namespace {

constexpr std::uint64_t kLeast = 4 << 10;
constexpr std::uint64_t kMost = 64 << 10;

}  // namespace

bool Window::holds(std::uint64_t offset, std::size_t size) const {
  return offset >= start_ && offset - start_ <= size_ && size <= size_ - (offset - start_);
}

// Nothing is cleared first: with sections of page data there is a jump for each.
void Window::move_to(std::uint64_t offset) {
  if (!bytes_) bytes_ = std::make_unique_for_overwrite<std::byte[]>(kMost);
  const bool goes_on = offset >= start_ && offset <= start_ + size_;
  const std::uint64_t size = goes_on ? std::clamp<std::uint64_t>(2 * size_, kLeast, kMost) : kLeast;
  size_ = 0;  // should the read fail
  const auto part = std::span(bytes_.get(), std::min(size, source_.size() - offset));
  source_.read(offset, part);
  size_ = part.size();
  start_ = offset;
}

void Window::read(std::uint64_t offset, std::span<std::byte> to) {
  const bool inside = offset <= source_.size() && to.size() <= source_.size() - offset;
  if (!inside || to.size() >= kLeast) {
    source_.read(offset, to);
    return;
  }
  if (!holds(offset, to.size())) move_to(offset);
  if (!to.empty()) std::memcpy(to.data(), bytes_.get() + (offset - start_), to.size());
}

}  // namespace cryo
