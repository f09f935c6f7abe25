// SPDX-License-Identifier: GPL-2.0-only
// What a CPU has by AT_HWCAP and AT_HWCAP2 of the auxiliary vector, where these are what programs go by.
#pragma once

#include <array>
#include <initializer_list>
#include <vector>

#include "context/model.h"
#include "restart/common/restart_arch.h"

namespace cryo {

// Of this machine.
[[nodiscard]] bool has_hwcap(unsigned bit);
[[nodiscard]] bool has_hwcap2(unsigned bit);

// By the number of the bit, as the kernel calls them; nullptr: one without a name.
using HwcapNames = std::array<const char*, 64>;

struct HwcapBit {
  unsigned bit;
  const char* name;
};

constexpr HwcapNames hwcap_names(std::initializer_list<HwcapBit> bits) {
  HwcapNames names{};
  for (const HwcapBit& bit : bits) names[bit.bit] = bit.name;
  return names;
}

// At most one problem: what a program of the context has been told of, and this machine does not have.
[[nodiscard]] std::vector<CpuProblem> hwcap_problems(const Context& context, const HwcapNames& names,
                                                     const HwcapNames& names2);

}  // namespace cryo
