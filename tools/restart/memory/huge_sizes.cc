// SPDX-License-Identifier: GPL-2.0-only
#include "restart/memory/huge_sizes.h"

#include <fmt/format.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include <bit>

namespace cryo {
namespace {

constexpr int kHugeShift = 26;  // MAP_HUGE_SHIFT, MFD_HUGE_SHIFT, SHM_HUGE_SHIFT

unsigned huge_size_bits(std::uint64_t huge_size) {
  return static_cast<unsigned>(std::countr_zero(huge_size)) << kHugeShift;
}

}  // namespace

int map_flags(std::uint64_t huge_size) {
  return huge_size == 0 ? 0 : MAP_HUGETLB | static_cast<int>(huge_size_bits(huge_size));
}

unsigned memfd_flags(std::uint64_t huge_size) {
  return huge_size == 0 ? 0 : MFD_HUGETLB | huge_size_bits(huge_size);
}

int shm_flags(std::uint64_t huge_size) {
  return huge_size == 0 ? 0 : SHM_HUGETLB | static_cast<int>(huge_size_bits(huge_size));
}

std::string huge_size_text(std::uint64_t huge_size) {
  return fmt::format("{} KiB", huge_size / 1024);
}

}  // namespace cryo
