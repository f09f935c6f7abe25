// SPDX-License-Identifier: GPL-2.0-only
// How a process that was stopped by job control is stopped again.
#pragma once

#include "context/model.h"
#include "restart/common/options.h"

namespace cryo {

// The signal that stopped it, so that waitpid(2) says the same again; SIGSTOP where that one is sent and
// would not stop it. `pid`: what the process is now, waiting to go on. `told`: none is sent, as its parent
// knows.
[[nodiscard]] int stop_signal(const Process& process, std::int32_t pid, bool told);

}  // namespace cryo
