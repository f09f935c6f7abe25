// SPDX-License-Identifier: GPL-2.0-only
// NUMA policies.
#pragma once

#include <string>

#include "context/model.h"
#include "restart/stub/calls.h"
#include "restart/stub/stub_area.h"

namespace cryo {

// Before anything is in the areas, so that the contents come to the nodes that they are to be on.
void plan_area_policies(const Mm& mm, CallList& calls, StubArea& area);
void plan_thread_policy(const cryo_mempolicy& policy, CallList& calls, StubArea& area);

// Bytes of the stub's area for one policy, at most.
inline constexpr std::size_t kPolicySize = 2 * sizeof(stub::Call) + CRYO_MAX_NODES / 8 + 16;

// What it comes to where its nodes are not there, or not in the cpuset that the caller is in; empty: it is as it was.  Without any of
// them, it is that of who has asked for none.
[[nodiscard]] std::string policy_here_text(const cryo_mempolicy& policy);

}  // namespace cryo
