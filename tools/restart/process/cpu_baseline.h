// SPDX-License-Identifier: GPL-2.0-only
// What the programs of a context have been told of the CPU: cr_run --cpu-baseline leaves it in their
// environment.
#pragma once

#include "context/chain.h"
#include "context/model.h"
#include "restart/common/restart_arch.h"

namespace cryo {

// Each level once. Read from the memory of the processes, as it was when they were started: an execve(2)
// without the variable ends it. Empty when a process has none. Throws Error when the file cannot be read.
[[nodiscard]] CpuBaselines cpu_baselines(const Context& context, const Chain& chain);

}  // namespace cryo
