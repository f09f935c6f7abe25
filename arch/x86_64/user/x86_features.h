// SPDX-License-Identifier: GPL-2.0-only
// What instructions a processor has.  Built on every architecture.
#pragma once

#include <cryo/arch/x86_64.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cryo {

// struct cryo_x86_64_cpu of a context, which may be one without cpuid[].
[[nodiscard]] cryo_x86_64_cpu x86_64_cpu(std::span<const std::byte> payload);
[[nodiscard]] bool has_x86_64_cpuid(std::span<const std::byte> payload);

// Those that `have` has and `lack` has not, by the names of /proc/cpuinfo; only what programs use:
// instructions.
[[nodiscard]] std::vector<std::string> x86_64_features(const cryo_x86_64_cpu& have,
                                                       const cryo_x86_64_cpu& lack);

// 1 to 4 for "x86-64", "x86-64-v2", "x86-64-v3" and "x86-64-v4" of the psABI; none for anything else.
[[nodiscard]] std::optional<int> x86_64_level(std::string_view name);
// Without the features that the level does not ask for.
[[nodiscard]] cryo_x86_64_cpu x86_64_within_level(cryo_x86_64_cpu cpu, int level);

}  // namespace cryo
