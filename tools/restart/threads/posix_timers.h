// SPDX-License-Identifier: GPL-2.0-only
// Timers made by timer_create(2).
#pragma once

#include "restart/common/findings.h"
#include "restart/threads/thread_plan_input.h"

namespace cryo {

// `queue` without the signals of timers that the restart lets expire again.
[[nodiscard]] SignalQueue without_timer_signals(SignalQueue queue, const Process& process);

// By the leader, when all threads are there.  Throws Error when a timer belongs to a thread whose id will be
// another one.
void plan_posix_timers(const Context& context, const ThreadPlanInput& input, CallList& calls, StubArea& area);
[[nodiscard]] std::size_t posix_timer_plan_size(const Process& process);

void check_posix_timers(const CheckInput& input, Findings& findings);

}  // namespace cryo
