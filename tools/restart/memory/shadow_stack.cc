// SPDX-License-Identifier: GPL-2.0-only
#include "restart/memory/shadow_stack.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/exit_codes.h"
#include "restart/common/findings.h"
#include "restart/stub/address_space.h"

namespace cryo {
namespace {

constexpr std::uint64_t kEntry = 8;  // bytes

bool is_shadow_stack(const cryo_vma& vma) {
  return (vma.flags & CRYO_VMA_SHADOW_STACK) != 0;
}

bool machine_has_them(std::uint64_t page) {
  const long made = ::syscall(kMapShadowStack, 0, page, 0);
  if (made < 0) return false;
  ::munmap(reinterpret_cast<void*>(made), page);
  return true;
}

// An empty one ends where its memory does.
bool is_in_one(const Mm& mm, std::uint64_t pointer) {
  return pointer % kEntry == 0 && std::any_of(mm.vmas.begin(), mm.vmas.end(), [&](const cryo_vma& vma) {
           return is_shadow_stack(vma) && vma.start <= pointer && pointer <= vma.end;
         });
}

// The program may have unmapped parts of it.
bool is_nothing_else(const Mm& mm, const AddressRange& range) {
  return range.start < range.end && std::none_of(mm.vmas.begin(), mm.vmas.end(), [&](const cryo_vma& vma) {
           return !is_shadow_stack(vma) && range.overlaps({vma.start, vma.end});
         });
}

}  // namespace

bool has_shadow_stacks(const Mm& mm) {
  return std::any_of(mm.vmas.begin(), mm.vmas.end(), is_shadow_stack);
}

std::string shadow_stack_problem(const Mm& mm, const ShadowStack& stack) {
  if (stack.enabled && !is_in_one(mm, stack.pointer))
    return fmt::format("its shadow stack pointer {:#x} is in no shadow stack", stack.pointer);
  if (stack.size != 0 && !is_nothing_else(mm, {stack.start, stack.start + stack.size}))
    return fmt::format("its shadow stack of {:#x} bytes at {:#x} is other memory", stack.size, stack.start);
  return {};
}

void check_shadow_stacks(const CheckInput& input, Findings& findings) {
  const Mm& mm = input.context.mm(input.process.head.mm);
  if (has_shadow_stacks(mm) && !machine_has_them(input.context.header.page_size))
    findings.problem(kErrBadArch, "pid {}: has memory for shadow stacks, which this machine lacks",
                     input.process.head.pid);
  for (const Thread& thread : input.process.threads)
    if (const std::string problem = shadow_stack_problem(mm, shadow_stack(thread.regsets)); !problem.empty())
      findings.problem(EBADMSG, "thread {}: {}", thread.head.tid, problem);
}

}  // namespace cryo
