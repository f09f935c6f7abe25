// SPDX-License-Identifier: GPL-2.0-only
// NUMA policies.
#pragma once

#include <string>

#include "context/model.h"
#include "restart/common/cpu_mask.h"
#include "restart/stub/calls.h"
#include "restart/stub/stub_area.h"

namespace cryo {

void plan_thread_policy(const cryo_mempolicy& policy, CallList& calls, StubArea& area);

// Bytes of the stub's area for one policy, at most.
inline constexpr std::size_t kPolicySize = 2 * sizeof(stub::Call) + CRYO_MAX_NODES / 8 + 16;

// Nodes that are there, and in the cpuset that the caller is in; empty: that cannot be told.
[[nodiscard]] NodeMask nodes_to_be_had();
// The same of a process that joins its own control group, before it does.
[[nodiscard]] NodeMask nodes_to_be_had(const Context& context, std::size_t process);
// Of the control group at `path` in the hierarchy that is mounted at `mount`: a group without a cpuset of its
// own has that of the next one above.
[[nodiscard]] NodeMask nodes_of_group(const std::string& mount, std::string path);

// What a policy comes to where only nodes of `there` can be had; empty: it is as it was.  Without any of
// them, it is that of who has asked for none.
[[nodiscard]] std::string policy_here_text(const cryo_mempolicy& policy, const NodeMask& there);

}  // namespace cryo
