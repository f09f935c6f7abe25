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
  return offset >= start_ && offset - start_ <= bytes_.size() && size <= bytes_.size() - (offset - start_);
}

void Window::move_to(std::uint64_t offset) {
  const std::uint64_t end = start_ + bytes_.size();
  const bool goes_on = offset >= start_ && offset <= end;
  const std::uint64_t size = goes_on ? std::clamp(2 * bytes_.size(), kLeast, kMost) : kLeast;
  std::vector<std::byte> bytes(std::min(size, source_.size() - offset));
  source_.read(offset, bytes);
  bytes_ = std::move(bytes);
  start_ = offset;
}

void Window::read(std::uint64_t offset, std::span<std::byte> to) {
  const bool inside = offset <= source_.size() && to.size() <= source_.size() - offset;
  if (!inside || to.size() >= kLeast) {
    source_.read(offset, to);
    return;
  }
  if (!holds(offset, to.size())) move_to(offset);
  if (!to.empty()) std::memcpy(to.data(), bytes_.data() + (offset - start_), to.size());
}

}  // namespace cryo
