// SPDX-License-Identifier: GPL-2.0-only
// Turns saved threads, signals, limits and timers into calls for the stub.
#pragma once

#include "context/model.h"
#include "restart/rights/credentials.h"
#include "restart/stub/calls.h"
#include "restart/stub/step_kind.h"
#include "restart/stub/stub_area.h"
#include "restart/threads/thread_plan_input.h"

namespace cryo {

// The leader is the first of the returned array; the others are in the order of their creation.
[[nodiscard]] stub::Thread* plan_threads(const ThreadPlanInput& input, StubArea& area,
                                         stub::Parameters* parameters);

// Before there are threads: signal handlers, personality.
void plan_process(const Process& process, CallList& calls, StubArea& area);
// By the leader when all other threads are set up: limits, credentials, timers, shared pending signals.
void plan_leader(const ThreadPlanInput& input, CallList& calls, StubArea& area);

// Index of the call: RLIMIT_*.
extern const StepKind kLimitStep;

[[nodiscard]] std::size_t thread_plan_size(const Process& process, const CredentialChange& credentials);

}  // namespace cryo
