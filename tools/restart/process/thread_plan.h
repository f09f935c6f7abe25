// SPDX-License-Identifier: GPL-2.0-only
// Turns saved threads, signals, limits and timers into calls for the stub.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "context/model.h"
#include "restart/common/options.h"
#include "restart/memory/vdso.h"
#include "restart/process/thread_fs.h"
#include "restart/rights/credentials.h"
#include "restart/stub/calls.h"
#include "restart/stub/step_kind.h"
#include "restart/stub/stub_area.h"

namespace cryo {

struct ThreadPlanInput {
  const Context& context;
  const Process& process;
  const RestartOptions& options;
  CredentialChange credentials;
  std::vector<std::int32_t> nice_not_permitted;  // tids that keep the nice value they have
  int handle_fd = -1;
  int exe_fd = -1;
  int device_fd = -1;
  const std::map<std::uint32_t, int>& fds;  // by file id
  // The main thread of its parent exits once more, which must not be taken for the parent's death: the
  // module sets the death signals.
  bool late_death_signal = false;
  const ThreadDirectories& directories;
  std::set<std::int32_t> holders{};      // threads for which the others wait, if they do
  std::optional<CodeMove> moved_code{};  // for threads that are in it
};

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
