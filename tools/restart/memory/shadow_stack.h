// SPDX-License-Identifier: GPL-2.0-only
// Memory in which the CPU keeps return addresses, and which programs cannot write to.
#pragma once

#include <string>

#include "context/model.h"
#include "restart/common/restart_arch.h"

namespace cryo {

// map_shadow_stack(2), v6.6, which not every C library knows; the same number everywhere.
inline constexpr long kMapShadowStack = 453;

[[nodiscard]] bool has_shadow_stacks(const Mm& mm);

// Why a thread cannot have it in this memory; empty: it can, or has none.
[[nodiscard]] std::string shadow_stack_problem(const Mm& mm, const ShadowStack& stack);

}  // namespace cryo
