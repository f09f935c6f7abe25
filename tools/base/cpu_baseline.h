// SPDX-License-Identifier: GPL-2.0-only
// What cr_run and cr_restart agree on about `cr_run --cpu-baseline`.
#pragma once

namespace cryo {

// In the environment of a program and of those that it runs: the name of the level.
inline constexpr const char* kCpuBaselineVariable = "CRYO_CPU_BASELINE";

}  // namespace cryo
