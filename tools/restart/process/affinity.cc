// SPDX-License-Identifier: GPL-2.0-only
#include "restart/process/affinity.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "restart/cgroups/cgroup.h"
#include "restart/common/helper_process.h"

namespace cryo {
namespace {

constexpr std::size_t kWords = 128;  // more than any kernel knows

CpuMask own_affinity() {
  CpuMask mask(kWords);
  const long bytes = ::syscall(SYS_sched_getaffinity, 0, mask.size() * sizeof(std::uint64_t), mask.data());
  if (bytes < 0) fail_errno("cannot get the CPU affinity");
  mask.resize((static_cast<std::size_t>(bytes) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
  return mask;
}

bool bind_to(const CpuMask& mask) {
  return ::syscall(SYS_sched_setaffinity, 0, mask.size() * sizeof(std::uint64_t), mask.data()) == 0;
}

bool has_cpu(const CpuMask& mask, std::size_t cpu) {
  return cpu / 64 < mask.size() && (mask[cpu / 64] >> (cpu % 64) & 1) != 0;
}

CpuMask every_cpu(std::size_t words) {
  return CpuMask(words, ~std::uint64_t{0});
}

CpuMask mask_of(const std::string& text) {
  CpuMask mask(kWords);
  std::size_t at = 0;
  const auto number = [&] {
    std::size_t value = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      value = value * 10 + static_cast<std::size_t>(text[at] - '0');
    return value;
  };
  for (; at < text.size(); ++at) {
    const std::size_t first = number();
    std::size_t last = first;
    if (at < text.size() && text[at] == '-') ++at, last = number();
    for (std::size_t cpu = first; cpu <= last && cpu < kWords * 64; ++cpu)
      mask[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
  }
  return mask;
}

}  // namespace

bool is_same(const CpuMask& a, const CpuMask& b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i)
    if ((i < a.size() ? a[i] : 0) != (i < b.size() ? b[i] : 0)) return false;
  return true;
}

CpuMask cpus_to_be_had() {
  return mask_of(text_from_helper([] {
    (void)bind_to(every_cpu(kWords));
    return cpus_text(own_affinity());
  }));
}

CpuMask cpus_to_be_had(const Context& context, std::size_t process, const CpuMask& by_caller) {
  const std::string& group = context.processes[process].cgroup;
  if (group.empty() || cgroup_mount().empty() || !cgroup_obstacle(context, process, false).empty())
    return by_caller;
  std::string text;
  std::ifstream file(cgroup_mount() + group + "/cpuset.cpus.effective");
  return std::getline(file, text) ? mask_of(text) : by_caller;
}

CpuMask common_cpus(const CpuMask& a, const CpuMask& b) {
  CpuMask both(std::min(a.size(), b.size()));
  for (std::size_t i = 0; i < both.size(); ++i) both[i] = a[i] & b[i];
  return both;
}

bool has_cpus(const CpuMask& mask) {
  return std::any_of(mask.begin(), mask.end(), [](std::uint64_t word) { return word != 0; });
}

std::string cpus_text(const CpuMask& mask) {
  std::string text;
  for (std::size_t cpu = 0; cpu < mask.size() * 64; ++cpu) {
    if (!has_cpu(mask, cpu)) continue;
    const std::size_t first = cpu;
    while (has_cpu(mask, cpu + 1)) ++cpu;
    text += fmt::format("{}{}", text.empty() ? "" : ",", first);
    if (cpu != first) text += fmt::format("-{}", cpu);
  }
  return text;
}

CpuMask cpus_of_job(const Context& context) {
  CpuMask all;
  for (const Process& process : context.processes)
    for (const Thread& thread : process.threads) {
      all.resize(std::max(all.size(), thread.cpus.size()));
      for (std::size_t i = 0; i < thread.cpus.size(); ++i) all[i] |= thread.cpus[i];
    }
  return all;
}

bool is_unbound_here(const CpuMask& own, const CpuMask& of_job, const CpuMask& there) {
  const CpuMask both = common_cpus(own, there);
  return !has_cpus(both) || (!is_same(both, own) && is_same(own, of_job));
}

CpuMask cpus_here() {
  const CpuMask own = own_affinity();
  if (!bind_to(every_cpu(kWords))) return own;
  const CpuMask all = own_affinity();
  // Else it stays bound to all, also to those that are switched on later.
  if (!is_same(all, own)) (void)bind_to(own);
  return all;
}

CpuMask affinity_here(const Thread& thread, const CpuMask& of_job, const CpuMask& there) {
  return is_unbound_here(thread.cpus, of_job, there) ? every_cpu(std::max(thread.cpus.size(), of_job.size()))
                                                     : thread.cpus;
}

std::size_t affinity_size(const Thread& thread) {
  return std::max(thread.cpus.size(), kWords) * sizeof(std::uint64_t);
}

}  // namespace cryo
