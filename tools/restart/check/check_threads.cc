// SPDX-License-Identifier: GPL-2.0-only
// What single threads need: register sets, CPUs, priorities.
#include <elf.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "restart/check/check.h"
#include "restart/common/restart_arch.h"
#include "restart/memory/mempolicy.h"
#include "restart/process/affinity.h"
#include "restart/rights/credentials.h"

namespace cryo {
namespace {

constexpr std::uint32_t kIoClassShift = 13;
constexpr std::uint32_t kIoClassRealTime = 1;
constexpr int kDeadline = 6;  // SCHED_DEADLINE

std::uint64_t soft_limit(__rlimit_resource_t resource) {
  rlimit limit;
  return ::getrlimit(resource, &limit) == 0 ? limit.rlim_cur : 0;
}

// One line for all threads of a process that were bound to the same.
void check_cpus(const CheckInput& input, Findings& findings) {
  std::map<CpuMask, std::vector<std::int32_t>> bound;
  for (const Thread& thread : input.process.threads)
    if (!has_exited(thread) && !thread.cpus.empty()) bound[thread.cpus].push_back(thread.head.tid);
  if (bound.empty()) return;
  const auto index = static_cast<std::size_t>(&input.process - input.context.processes.data());
  const bool leaves = input.options.cgroups == CgroupPolicy::kLeave;
  const CpuMask there = leaves ? input.cpus : cpus_to_be_had(input.context, index, input.cpus);
  const CpuMask job_cpus = cpus_of_job(input.context);
  for (const auto& [cpus, tids] : bound) {
    const CpuMask both = common_cpus(cpus, there);
    // All that there is, or what it had.
    if (is_same(both, there) || is_same(both, cpus)) continue;
    const std::string had = cpus_text(both), all = cpus_text(there), wanted = cpus_text(cpus);
    const std::string others =
        tids.size() == 1 ? ""
                         : fmt::format(" (and {} more of pid {})", tids.size() - 1, input.process.head.pid);
    if (had.empty())
      findings.warning(
          "thread {}{}: none of the CPUs in its affinity mask ({}) is available: it may run on {}",
          tids.front(), others, wanted, all);
    else if (is_unbound_here(cpus, job_cpus, there))
      findings.warning(
          "thread {}{}: of the CPUs in its affinity mask ({}), only {} is available: it may run on {}",
          tids.front(), others, wanted, had, all);
    else
      findings.warning("thread {}{}: of the CPUs in its affinity mask ({}), only {} is available",
                       tids.front(), others, wanted, had);
  }
}

void check_priorities(const CheckInput& input, const cryo_thread& head, Findings& findings) {
  if (capable(input.own, CAP_SYS_NICE)) return;
  const bool real_time = head.sched_policy == SCHED_FIFO || head.sched_policy == SCHED_RR;
  if ((real_time && head.sched_priority > soft_limit(RLIMIT_RTPRIO)) || head.sched_policy == kDeadline)
    findings.problem(
        EPERM, "thread {}: cr_restart may not give it its real-time scheduling (policy {}, priority {})",
        head.tid, head.sched_policy, head.sched_priority);
  const int now = ::getpriority(PRIO_PROCESS, 0);
  if (head.nice<now&& static_cast<std::uint64_t>(20 - head.nice)> soft_limit(RLIMIT_NICE)) {
    findings.warning("thread {}: cr_restart may not raise its priority: nice stays at {} (it was {})",
                     head.tid, now, head.nice);
    findings.nice_not_permitted.push_back(head.tid);
  }
  if (head.ioprio >> kIoClassShift == kIoClassRealTime && !capable(input.own, CAP_SYS_ADMIN))
    findings.problem(EPERM, "thread {}: cr_restart may not give it its real-time I/O priority", head.tid);
}

// Installed behind a set-user-id program, say: who restarts it needs the right as well.
void check_seccomp(const CheckInput& input, const Thread& thread, Findings& findings) {
  const bool safe = (input.process.head.flags & CRYO_PROC_NO_NEW_PRIVS) != 0 ||
                    (thread.head.flags & CRYO_THREAD_NO_NEW_PRIVS) != 0;
  if (!thread.seccomp.filters.empty() && !safe && !capable(input.own, CAP_SYS_ADMIN))
    findings.problem(EPERM, "thread {}: cr_restart may not install its seccomp filters without no_new_privs",
                     thread.head.tid);
}

}  // namespace

void check_threads(const CheckInput& input, Findings& findings) {
  check_cpus(input, findings);
  for (const Thread& thread : input.process.threads) {
    if (has_exited(thread)) continue;
    const bool general = std::any_of(thread.regsets.begin(), thread.regsets.end(),
                                     [](const Regset& set) { return set.head.note == NT_PRSTATUS; });
    if (!general)
      findings.problem(EBADMSG, "thread {}: the context lacks its general registers", thread.head.tid);
    check_priorities(input, thread.head, findings);
    check_seccomp(input, thread, findings);
    if (const std::string text = thread.mempolicy ? policy_here_text(*thread.mempolicy, input.nodes) : "";
        !text.empty())
      findings.warning("thread {}: its NUMA memory policy: {}", thread.head.tid, text);
    if (!input.options.restore_pid && !(thread.head.flags & CRYO_THREAD_LEADER) &&
        thread.pending.signals != 0)
      findings.problem(EINVAL, "thread {}: has pending signals, which cannot be restored without its id",
                       thread.head.tid);
  }
}

}  // namespace cryo
