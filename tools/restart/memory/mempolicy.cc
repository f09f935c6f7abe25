// SPDX-License-Identifier: GPL-2.0-only
#include "restart/memory/mempolicy.h"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <unistd.h>

#include <algorithm>

namespace cryo {
namespace {

constexpr unsigned long kMaxNode = CRYO_MAX_NODES + 1;  // the calls take one more than there are bits
constexpr long kSetHomeNode = 450;                      // set_mempolicy_home_node(2), the same everywhere

struct Nodes {
  const std::uint64_t* mask;
  unsigned long max;
};

// Some modes take no nodes at all.
Nodes nodes_of(const cryo_mempolicy& policy, StubArea& area) {
  const bool none =
      std::all_of(std::begin(policy.nodes), std::end(policy.nodes), [](auto w) { return w == 0; });
  if (none) return {nullptr, 0};
  return {area.copy(std::vector<std::uint64_t>(std::begin(policy.nodes), std::end(policy.nodes))), kMaxNode};
}

}  // namespace

void plan_area_policies(const Mm& mm, CallList& calls, StubArea& area) {
  std::uint32_t index = 0;
  for (const cryo_mempolicy& policy : mm.mempolicies) {
    const Nodes nodes = nodes_of(policy, area);
    const std::uint64_t size = policy.end - policy.start;
    calls.add(stub::Step::kMempolicy, index, SYS_mbind, policy.start, size, policy.mode | policy.flags,
              nodes.mask, nodes.max, 0);
    if (policy.home_node >= 0)
      calls.add(stub::Step::kMempolicy, index, kSetHomeNode, policy.start, size, policy.home_node, 0);
    ++index;
  }
}

void plan_thread_policy(const cryo_mempolicy& policy, CallList& calls, StubArea& area) {
  const Nodes nodes = nodes_of(policy, area);
  calls.add(stub::Step::kMempolicy, 0, SYS_set_mempolicy, policy.mode | policy.flags, nodes.mask, nodes.max);
}

std::string missing_node(const cryo_mempolicy& policy) {
  for (std::uint32_t node = 0; node < CRYO_MAX_NODES; ++node) {
    if (!(policy.nodes[node / 64] >> (node % 64) & 1)) continue;
    const std::string path = fmt::format("/sys/devices/system/node/node{}", node);
    if (::access(path.c_str(), F_OK) != 0) return std::to_string(node);
  }
  return {};
}

}  // namespace cryo
