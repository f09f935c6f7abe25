// SPDX-License-Identifier: GPL-2.0-only
// Where a process and its memory are: NUMA policies, utilization clamps, control group.
#include <algorithm>
#include <limits>

#include "context/mm_checks.h"
#include "context/staging.h"

namespace cryo {
namespace {

constexpr std::uint32_t kMaxUtilization = 1024;  // SCHED_CAPACITY_SCALE
constexpr std::uint32_t kMaxMode = 64;           // of MPOL_*, with room for new ones
constexpr std::uint32_t kModeFlags = 7U << 13;   // MPOL_MODE_FLAGS

std::int32_t task_id_of(const Payload& payload) {
  if (payload.object() == 0 || payload.object() > std::numeric_limits<std::int32_t>::max())
    payload.damaged("{} cannot be an id", payload.object());
  return static_cast<std::int32_t>(payload.object());
}

void check_policy(const Payload& payload, const cryo_mempolicy& policy) {
  if (policy.mode >= kMaxMode || (policy.flags & ~kModeFlags) != 0)
    payload.damaged("a NUMA policy of mode {}, flags {:#x}", policy.mode, policy.flags);
  if (policy.home_node < -1 || policy.home_node >= CRYO_MAX_NODES)
    payload.damaged("a NUMA policy with home node {}", policy.home_node);
  if (policy.of_mm > 1 || (policy.of_mm != 0) != (policy.start < policy.end))
    payload.damaged("a NUMA policy of {:#x}-{:#x}", policy.start, policy.end);
}

}  // namespace

void parse_uclamp(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const auto head = payload.fixed<cryo_uclamp>();
  for (const std::uint32_t value : {head.min, head.max})
    if (value > kMaxUtilization && value != CRYO_UCLAMP_NONE)
      payload.damaged("a utilization clamp of {}", value);
  staging.threads.mention(task_id_of(payload), payload.section()).uclamp = head;
}

// A thread and an address space may have the same number.
void parse_mempolicy(Staging& staging, const Payload& payload) {
  const auto policies = payload.array<cryo_mempolicy>();
  if (policies.empty()) payload.damaged("no NUMA policy in it");
  const bool of_mm = policies.front().of_mm != 0;
  staging.once(payload, of_mm ? 1 : 0);
  for (const cryo_mempolicy& policy : policies) {
    check_policy(payload, policy);
    if ((policy.of_mm != 0) != of_mm) payload.damaged("NUMA policies of a thread and of memory");
  }
  const std::int32_t id = task_id_of(payload);
  if (of_mm) {
    staging.mms.mention(static_cast<std::uint32_t>(id), payload.section()).mempolicies = policies;
    return;
  }
  if (policies.size() != 1) payload.damaged("{} NUMA policies of one thread", policies.size());
  staging.threads.mention(id, payload.section()).mempolicy = policies.front();
}

void parse_cgroup(Staging& staging, const Payload& payload) {
  staging.once(payload);
  std::string path = payload.string();
  if (!path.starts_with('/')) payload.damaged("'{}' is no path of a control group", path);
  staging.processes.mention(task_id_of(payload), payload.section()).cgroup = std::move(path);
}

void check_mempolicies(const Staging& staging, const Mm& mm) {
  for (const cryo_mempolicy& policy : mm.mempolicies) {
    const auto vma = std::find_if(mm.vmas.begin(), mm.vmas.end(), [&](const cryo_vma& v) {
      return v.start <= policy.start && policy.end <= v.end;
    });
    if (vma == mm.vmas.end())
      inconsistent(staging, "a NUMA policy of {:#x}-{:#x}, which is outside of memory {}", policy.start,
                   policy.end, mm.id);
  }
}

}  // namespace cryo
