// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <vector>

namespace cryo {

using CpuMask = std::vector<std::uint64_t>;  // CPU N is bit N % 64 of word N / 64
using NodeMask = CpuMask;                    // the same of NUMA nodes

}  // namespace cryo
