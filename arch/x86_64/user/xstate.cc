// SPDX-License-Identifier: GPL-2.0-only
#include "xstate.h"

#include <cpuid.h>
#include <cryo/arch/x86_64.h>

#include <algorithm>
#include <cstring>

namespace cryo {
namespace {

constexpr std::size_t kLegacySize = 512;  // x87, SSE, and what software keeps behind them
constexpr std::size_t kHeaderSize = 64;   // XSTATE_BV, XCOMP_BV
constexpr std::size_t kPkru = 9;

// Sizes in bytes are the same everywhere; 0: no component that a program can have.
constexpr std::size_t kSize[kXstateComponents] = {0, 0, 256, 64, 64, 64, 512, 1024, 0,   8,
                                                  0, 0, 0,   0,  0,  0,  0,   64,   8192};
// Intel's CPUs, and emulated ones, leave room for what they lack; AMD's do not.
constexpr std::size_t kIntel[kXstateComponents] = {0, 0, 576, 960, 1024, 1088, 1152, 1664, 0,   2688,
                                                   0, 0, 0,   0,   0,    0,    0,    2752, 2816};
constexpr std::size_t kAmd[kXstateComponents] = {0, 0, 576, 0, 0, 832, 896, 1408, 0, 2432};
constexpr std::size_t kAmdPkruWithoutAvx512 = 832;

bool has(std::uint64_t mask, std::size_t component) {
  return (mask >> component & 1) != 0;
}

std::uint64_t word(std::span<const std::byte> area, std::size_t offset) {
  std::uint64_t value = 0;
  if (area.size() >= offset + sizeof(value)) std::memcpy(&value, area.data() + offset, sizeof(value));
  return value;
}

// None: it has components that the table does not have.
std::optional<XstateLayout> with_offsets(std::uint64_t components,
                                         const std::size_t (&offsets)[kXstateComponents]) {
  XstateLayout layout{components, kLegacySize + kHeaderSize, {}};
  for (std::size_t i = 2; i < 64; ++i) {
    if (!has(components, i)) continue;
    if (i >= kXstateComponents || offsets[i] == 0) return std::nullopt;
    layout.offset[i] = offsets[i];
    layout.size = std::max(layout.size, offsets[i] + kSize[i]);
  }
  return layout;
}

std::optional<XstateLayout> amd_layout(std::uint64_t components) {
  std::size_t offsets[kXstateComponents];
  std::copy(std::begin(kAmd), std::end(kAmd), offsets);
  if (!has(components, 5)) offsets[kPkru] = kAmdPkruWithoutAvx512;
  return with_offsets(components, offsets);
}

bool is_initial(std::span<const std::byte> contents) {
  return std::all_of(contents.begin(), contents.end(), [](std::byte b) { return b == std::byte{0}; });
}

bool pkru_restricts(std::span<const std::byte> contents) {
  constexpr std::byte kKey0{3};
  return (contents.front() & kKey0) != std::byte{0};
}

}  // namespace

XstateLayout own_xstate() {
  std::uint32_t eax, ebx, ecx, edx;
  XstateLayout layout{kXstateLegacy, 0, {}};
  __cpuid(1, eax, ebx, ecx, edx);
  if (!(ecx & bit_OSXSAVE)) return layout;
  std::uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  layout.components = static_cast<std::uint64_t>(high) << 32 | low;
  __cpuid_count(0xd, 0, eax, ebx, ecx, edx);
  layout.size = ebx;  // for all components in XCR0
  for (unsigned int i = 2; i < kXstateComponents; ++i) {
    if (!has(layout.components, i)) continue;
    __cpuid_count(0xd, i, eax, ebx, ecx, edx);
    if (eax == kSize[i]) layout.offset[i] = ebx;
  }
  return layout;
}

std::optional<XstateLayout> xstate_layout(std::span<const std::byte> area) {
  const std::uint64_t components = word(area, CRYO_X86_64_XSTATE_MASK_OFFSET);
  const XstateLayout own = own_xstate();
  if (own.components == components && own.size == area.size()) return own;
  for (const auto& layout : {with_offsets(components, kIntel), amd_layout(components)})
    if (layout && layout->size == area.size()) return layout;
  return std::nullopt;
}

std::uint64_t xstate_in_use(std::span<const std::byte> area) {
  std::uint64_t mask = word(area, kLegacySize);
  const std::optional<XstateLayout> layout = xstate_layout(area);
  for (std::size_t i = 2; layout && i < kXstateComponents; ++i) {
    if (!has(mask, i) || layout->offset[i] == 0) continue;
    const auto contents = area.subspan(layout->offset[i], kSize[i]);
    if (i == kPkru ? !pkru_restricts(contents) : is_initial(contents)) mask &= ~(std::uint64_t{1} << i);
  }
  return mask;
}

Bytes convert_xstate(std::span<const std::byte> area, const XstateLayout& to) {
  Bytes out(to.size);
  const std::optional<XstateLayout> from = xstate_layout(area);
  const std::size_t head = std::min({area.size(), out.size(), kLegacySize + kHeaderSize});
  std::copy_n(area.begin(), head, out.begin());
  std::uint64_t mask = word(area, kLegacySize) & to.components;
  for (std::size_t i = 2; from && i < kXstateComponents; ++i)
    if (has(mask, i) && from->offset[i] != 0 && to.offset[i] != 0)
      std::copy_n(area.begin() + static_cast<std::ptrdiff_t>(from->offset[i]), kSize[i],
                  out.begin() + static_cast<std::ptrdiff_t>(to.offset[i]));
  if (out.size() >= kLegacySize + sizeof(mask)) std::memcpy(out.data() + kLegacySize, &mask, sizeof(mask));
  if (out.size() >= kLegacySize)
    std::memcpy(out.data() + CRYO_X86_64_XSTATE_MASK_OFFSET, &to.components, sizeof(to.components));
  return out;
}

}  // namespace cryo
