// SPDX-License-Identifier: GPL-2.0-only
#include "restart/memory/mempolicy.h"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>

#include "restart/cgroups/cgroup.h"
#include "restart/memory/resources.h"
#include "restart/process/affinity.h"
#include "restart/stub/step_kind.h"

namespace cryo {
namespace {

const StepKind kMempolicyStep("set a NUMA memory policy");

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

// "0-1,4", as the kernel writes it.
NodeMask nodes_of_text(const std::string& text) {
  NodeMask nodes(CRYO_MAX_NODES / 64);
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    std::uint32_t first = 0;
    const auto [rest, error] = std::from_chars(at, end, first);
    if (error != std::errc()) return {};
    std::uint32_t last = first;
    at = rest;
    if (at < end && *at == '-') at = std::from_chars(at + 1, end, last).ptr;
    for (std::uint32_t node = first; node <= last && node < CRYO_MAX_NODES; ++node)
      nodes[node / 64] |= std::uint64_t{1} << (node % 64);
    if (at < end && *at++ != ',') return {};
  }
  return nodes;
}

NodeMask nodes_in(const cryo_mempolicy& policy) {
  return {std::begin(policy.nodes), std::end(policy.nodes)};
}

bool has_node(const NodeMask& nodes, int node) {
  const auto at = static_cast<unsigned>(node);
  return at / 64 < nodes.size() && (nodes[at / 64] >> (at % 64) & 1) != 0;
}

// With those of its nodes that can be had; nothing: with none of them.  Relative numbers are always there.
std::optional<cryo_mempolicy> policy_here(const cryo_mempolicy& policy, const NodeMask& there) {
  const NodeMask wanted = nodes_in(policy);
  if (there.empty() || !has_cpus(wanted) || (policy.flags & MPOL_F_RELATIVE_NODES) != 0) return policy;
  const NodeMask nodes = common_cpus(wanted, there);
  if (!has_cpus(nodes)) return {};
  cryo_mempolicy here = policy;
  std::copy(nodes.begin(), nodes.end(), std::begin(here.nodes));
  if (policy.home_node >= 0 && !has_node(there, policy.home_node)) here.home_node = -1;
  return here;
}

}  // namespace

namespace {

// Before anything is in the areas, so that the contents come to the nodes that they are to be on.
void plan_area_policies(const Context&, const Mm& mm, CallList& calls, StubArea& area) {
  const NodeMask there = mm.mempolicies.empty() ? NodeMask() : nodes_to_be_had();
  std::uint32_t index = 0;
  for (const cryo_mempolicy& saved : mm.mempolicies) {
    const std::optional<cryo_mempolicy> here = policy_here(saved, there);
    if (!here) continue;
    const cryo_mempolicy& policy = *here;
    const Nodes nodes = nodes_of(policy, area);
    const std::uint64_t size = policy.end - policy.start;
    calls.add(kMempolicyStep, index, SYS_mbind, policy.start, size, policy.mode | policy.flags, nodes.mask,
              nodes.max, 0);
    if (policy.home_node >= 0)
      calls.add(kMempolicyStep, index, kSetHomeNode, policy.start, size, policy.home_node, 0);
    ++index;
  }
}

}  // namespace

void plan_thread_policy(const cryo_mempolicy& saved, CallList& calls, StubArea& area) {
  const std::optional<cryo_mempolicy> here = policy_here(saved, nodes_to_be_had());
  // What cr_restart has, if anything, is not its.
  if (!here) return calls.add(kMempolicyStep, 0, SYS_set_mempolicy, MPOL_DEFAULT, 0, 0);
  const cryo_mempolicy& policy = *here;
  const Nodes nodes = nodes_of(policy, area);
  calls.add(kMempolicyStep, 0, SYS_set_mempolicy, policy.mode | policy.flags, nodes.mask, nodes.max);
}

NodeMask nodes_to_be_had() {
  NodeMask nodes(CRYO_MAX_NODES / 64);
  if (::syscall(SYS_get_mempolicy, nullptr, nodes.data(), CRYO_MAX_NODES, 0, MPOL_F_MEMS_ALLOWED) != 0)
    return {};
  return nodes;
}

NodeMask nodes_to_be_had(const Context& context, std::size_t process) {
  const std::string& group = context.processes[process].cgroup;
  const std::string mount = group.empty() ? "" : cgroup_mount();
  if (mount.empty() || !cgroup_obstacle(context, process, false).empty()) return nodes_to_be_had();
  const NodeMask nodes = nodes_of_group(mount, group);
  return has_cpus(nodes) ? nodes : nodes_to_be_had();
}

NodeMask nodes_of_group(const std::string& mount, std::string path) {
  for (;; path.resize(path.rfind('/'))) {
    std::string text;
    std::ifstream file(mount + path + "/cpuset.mems.effective");
    if (std::getline(file, text)) return nodes_of_text(text);
    if (path.rfind('/') == std::string::npos) return {};
  }
}

std::string policy_here_text(const cryo_mempolicy& policy, const NodeMask& there) {
  const std::optional<cryo_mempolicy> here = policy_here(policy, there);
  if (!here) return fmt::format("node {} cannot be had: it is left out", cpus_text(nodes_in(policy)));
  if (nodes_in(*here) == nodes_in(policy)) return {};
  return fmt::format("of node {}, only {} can be had", cpus_text(nodes_in(policy)),
                     cpus_text(nodes_in(*here)));
}

namespace {

void check_policies(const CheckInput& input, const Mm& mm, Findings& findings) {
  for (const cryo_mempolicy& policy : mm.mempolicies)
    if (const std::string text = policy_here_text(policy, input.nodes); !text.empty())
      findings.warning("pid {}: the NUMA memory policy of {:#x}-{:#x}: {}", input.process.head.pid,
                       policy.start, policy.end, text);
}

std::size_t policies_size(const Mm& mm) {
  return mm.mempolicies.size() * kPolicySize;
}

}  // namespace

const MemoryResource kMempoliciesResource = {
    .check = check_policies, .plan_before_contents = plan_area_policies, .size = policies_size};

}  // namespace cryo
