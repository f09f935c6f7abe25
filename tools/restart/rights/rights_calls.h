// SPDX-License-Identifier: GPL-2.0-only
// The rights of a process, taken for some calls of the stub, as names.h does it while there is a C++ library.
#pragma once

#include "restart/rights/credentials.h"
#include "restart/rights/rights.h"
#include "restart/stub/arena.h"
#include "restart/stub/calls.h"

namespace cryo {

// `own`: those of the caller, who is root or no more than the other one.  Between the two, what is opened
// remembers `rights`. Afterwards the process is one that nobody may look at, with SIGKILL as its parent-death
// signal.
void plan_rights_taken(const Rights& rights, const Creds& own, CallList& calls, Arena& arena);
void plan_rights_back(const Rights& rights, const Creds& own, CallList& calls, Arena& arena);
// Bytes of the arena that both take together.
[[nodiscard]] std::size_t rights_plan_size(const Rights& rights, const Creds& own);

}  // namespace cryo
