// SPDX-License-Identifier: GPL-2.0-only
#include "restart/process/seccomp.h"

#include <linux/filter.h>

#include <algorithm>

namespace cryo {
namespace {

// By which others call it; 0: none of them does.
std::uint32_t number_of(const Process& process, std::int32_t tid) {
  const auto shares = [tid](const Thread& thread) { return thread.seccomp.shared_with == tid; };
  if (std::none_of(process.threads.begin(), process.threads.end(), shares)) return 0;
  const auto at = std::find_if(process.threads.begin(), process.threads.end(),
                               [tid](const Thread& thread) { return thread.head.tid == tid; });
  return at == process.threads.end() ? 0 : static_cast<std::uint32_t>(at - process.threads.begin()) + 1;
}

}  // namespace

void plan_seccomp(const Process& process, const Thread& thread, cryo_resume& resume, StubArea& area) {
  const Seccomp& seccomp = thread.seccomp;
  resume.seccomp_mode = seccomp.mode;
  if (seccomp.filters.empty()) return;
  resume.seccomp_thread = number_of(process, thread.head.tid);
  if (seccomp.shared != 0) {
    resume.seccomp_of = number_of(process, seccomp.shared_with);
    resume.seccomp_shared = seccomp.shared;
  }
  auto* programs = area.array<cryo_seccomp_program>(seccomp.filters.size());
  for (std::size_t i = 0; i < seccomp.filters.size(); ++i) {
    const SeccompFilter& filter = seccomp.filters[i];
    auto* program = area.array<sock_fprog>(1);
    program->len = static_cast<unsigned short>(filter.program.size());
    program->filter = reinterpret_cast<sock_filter*>(area.copy(filter.program));
    programs[i].program = reinterpret_cast<std::uint64_t>(program);
    programs[i].flags = filter.flags;
  }
  resume.seccomp = reinterpret_cast<std::uint64_t>(programs);
  resume.nr_seccomp = static_cast<std::uint32_t>(seccomp.filters.size());
}

std::size_t seccomp_size(const Seccomp& seccomp) {
  std::size_t size = 64;
  for (const SeccompFilter& filter : seccomp.filters)
    size += sizeof(cryo_seccomp_program) + sizeof(sock_fprog) +
            filter.program.size() * sizeof(std::uint64_t) + 64;
  return size;
}

}  // namespace cryo
