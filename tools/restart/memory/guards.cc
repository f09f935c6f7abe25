// SPDX-License-Identifier: GPL-2.0-only
#include "restart/memory/guards.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "restart/memory/memory_steps.h"
#include "restart/memory/resources.h"

namespace cryo {
namespace {

const StepKind kGuardStep("install guard pages", [](const FailedCall& call) {
  return area_message("install guard pages (MADV_GUARD_INSTALL) in", call);
});

// Which not every C library knows.
constexpr int kGuardInstall = 102;

bool kernel_has_guards(int flags) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* tried = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
  if (tried == MAP_FAILED) return false;
  const bool found = ::madvise(tried, page, kGuardInstall) == 0;
  ::munmap(tried, page);
  return found;
}

bool needs_other_memory(const Mm& mm) {
  auto vma = mm.vmas.begin();
  return std::any_of(mm.guards.begin(), mm.guards.end(), [&](const cryo_page_run& run) {
    while (vma->end <= run.start) ++vma;
    return vma->kind != CRYO_VMA_ANON;
  });
}

}  // namespace

bool can_have_guards(const Mm& mm) {
  return mm.guards.empty() ||
         (kernel_has_guards(MAP_PRIVATE) && (!needs_other_memory(mm) || kernel_has_guards(MAP_SHARED)));
}

bool has_guards(const Mm& mm, const cryo_vma& vma) {
  const auto first =
      std::lower_bound(mm.guards.begin(), mm.guards.end(), vma.start,
                       [](const cryo_page_run& run, std::uint64_t at) { return run.start < at; });
  return first != mm.guards.end() && first->start < vma.end;
}

namespace {

void check_kernel(const CheckInput& input, const Mm& mm, Findings& findings) {
  if (!can_have_guards(mm))
    findings.problem(
        EOPNOTSUPP,
        "pid {}: has guard pages (MADV_GUARD_INSTALL) at {:#x}, which this kernel does not support",
        input.process.head.pid, mm.guards.front().start);
}

// For the areas as they are in the end, but before they are locked: there the kernel puts none.
void plan_guards(const Context& context, const Mm& mm, CallList& calls, StubArea&) {
  std::uint32_t index = 0;
  for (const cryo_page_run& run : mm.guards) {
    while (mm.vmas[index].end <= run.start) ++index;
    calls.add(kGuardStep, index, SYS_madvise, run.start, run.nr_pages * context.header.page_size,
              kGuardInstall);
  }
}

std::size_t guards_size(const Mm& mm) {
  return mm.guards.size() * sizeof(stub::Call);
}

}  // namespace

const MemoryResource kGuardsResource = {.check = check_kernel, .plan = plan_guards, .size = guards_size};

}  // namespace cryo
