// SPDX-License-Identifier: GPL-2.0-only
// What single threads need: register sets, CPUs, priorities.
#include <elf.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/parse.h"
#include "base/unique_fd.h"
#include "restart/check/check.h"
#include "restart/engine/restart_arch.h"
#include "restart/memory/mempolicy.h"

namespace cryo {
namespace {

constexpr std::uint32_t kIoClassShift = 13;
constexpr std::uint32_t kIoClassRealTime = 1;
constexpr int kDeadline = 6;  // SCHED_DEADLINE

std::uint64_t soft_limit(__rlimit_resource_t resource) {
  rlimit limit;
  return ::getrlimit(resource, &limit) == 0 ? limit.rlim_cur : 0;
}

// CPUs of this machine, from "0-3,8".
std::vector<bool> possible_cpus() {
  constexpr std::size_t kPage = 4096;  // what such a file has at most
  std::string text(kPage, '\0');
  const UniqueFd file(::open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC));
  const ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : 0;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  text.resize(std::min(text.size(), text.find('\n')));
  std::vector<bool> cpus;
  for (std::size_t at = 0; at < text.size();) {
    const std::string part = text.substr(at, text.find(',', at) - at);
    const std::size_t dash = part.find('-');
    const auto first = parse_number<unsigned>(part.substr(0, dash), 0, 1U << 20);
    const auto last =
        dash == std::string::npos ? first : parse_number<unsigned>(part.substr(dash + 1), 0, 1U << 20);
    if (!first || !last) break;
    cpus.resize(std::max<std::size_t>(cpus.size(), *last + 1));
    for (unsigned cpu = *first; cpu <= *last; ++cpu) cpus[cpu] = true;
    at += part.size() + 1;
  }
  return cpus;
}

// The first processor is always there, so that few have to look which the others are.
bool any_cpu(const Thread& thread) {
  if (thread.cpus.empty() || (thread.cpus.front() & 1U) != 0) return true;
  const std::vector<bool> possible = possible_cpus();
  if (possible.empty()) return true;
  for (std::size_t cpu = 0; cpu < possible.size() && cpu / 64 < thread.cpus.size(); ++cpu)
    if (possible[cpu] && (thread.cpus[cpu / 64] >> (cpu % 64) & 1)) return true;
  return false;
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
  for (const Thread& thread : input.process.threads) {
    if (has_exited(thread)) continue;
    const bool general = std::any_of(thread.regsets.begin(), thread.regsets.end(),
                                     [](const Regset& set) { return set.head.note == NT_PRSTATUS; });
    if (!general)
      findings.problem(EBADMSG, "thread {}: the context lacks its general registers", thread.head.tid);
    if (!any_cpu(thread))
      findings.problem(EINVAL, "thread {}: none of the CPUs that it may run on exists here", thread.head.tid);
    check_priorities(input, thread.head, findings);
    check_seccomp(input, thread, findings);
    if (const std::string node = thread.mempolicy ? missing_node(*thread.mempolicy) : ""; !node.empty())
      findings.problem(EINVAL, "thread {}: its NUMA memory policy needs node {}, which is not there",
                       thread.head.tid, node);
    if (!input.options.restore_pid && !(thread.head.flags & CRYO_THREAD_LEADER) &&
        thread.pending.signals != 0)
      findings.problem(EINVAL, "thread {}: has pending signals, which cannot be restored without its id",
                       thread.head.tid);
  }
}

}  // namespace cryo
