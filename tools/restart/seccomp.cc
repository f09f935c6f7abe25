// SPDX-License-Identifier: GPL-2.0-only
#include "restart/seccomp.h"

#include <linux/filter.h>

namespace cryo {

void plan_seccomp(const Seccomp& seccomp, cryo_resume& resume, StubArea& area) {
  resume.seccomp_mode = seccomp.mode;
  if (seccomp.filters.empty()) return;
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
