// SPDX-License-Identifier: GPL-2.0-only
#include "restart/check.h"

#include <unistd.h>

#include "base/exit_codes.h"
#include "restart/restart_arch.h"

namespace cryo {
namespace {

const char* arch_name(std::uint32_t arch) {
  switch (arch) {
    case CRYO_ARCH_X86_64:
      return "x86_64";
    case CRYO_ARCH_AARCH64:
      return "aarch64";
    case CRYO_ARCH_PPC64LE:
      return "ppc64le";
    default:
      return "an unknown architecture";
  }
}

// Without these nothing else in the context has a meaning here.
void check_machine(const Context& context, Findings& findings) {
  if (context.header.arch != own_arch())
    findings.problem(kErrBadArch, "the context is of a process on {}, this is {}",
                     arch_name(context.header.arch), arch_name(own_arch()));
  const long page_size = ::sysconf(_SC_PAGESIZE);
  if (context.header.page_size != static_cast<std::uint64_t>(page_size))
    findings.problem(EINVAL, "the context has pages of {} bytes, this kernel {}", context.header.page_size,
                     page_size);
  if (context.processes.size() != 1)
    findings.problem(EOPNOTSUPP, "the context holds {} processes; only one can be restarted",
                     context.processes.size());
}

}  // namespace

Findings check_context(const Context& context, const RestartOptions& options) {
  Findings findings;
  check_machine(context, findings);
  if (!findings.problems.empty()) return findings;
  for (const CpuProblem& cpu : cpu_problems(context)) {
    if (cpu.certain || options.other_cpu == Tolerance::kError)
      findings.problem(kErrBadArch, "{}", cpu.text);
    else
      findings.warning("{}", cpu.text);
  }
  const CheckInput input{context, context.processes.front(), options, own_credentials()};
  check_process(input, findings);
  check_threads(input, findings);
  check_memory(input, findings);
  check_files(input, findings);
  check_changed(context, options, findings);
  return findings;
}

}  // namespace cryo
