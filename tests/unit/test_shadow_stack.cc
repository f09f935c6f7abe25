// SPDX-License-Identifier: GPL-2.0-only
// What stands in the way of a restart about shadow stacks: each message, whole.
#include <sys/syscall.h>
#include <unistd.h>

#include "base/exit_codes.h"
#include "restart/check/check.h"
#include "restart/memory/shadow_stack.h"
#include "unit/context_builder.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

cryo_vma vma(std::uint64_t start, std::uint64_t end, std::uint64_t flags) {
  return {start, end, 0, flags, CRYO_VMA_ANON, 0, 0, 0};
}

TEST("shadow stacks: threads") {
  Mm mm;
  mm.vmas = {vma(0x10000, 0x20000, 0), vma(0x30000, 0x50000, CRYO_VMA_SHADOW_STACK)};
  CHECK_EQ(shadow_stack_problem(mm, {false, 0x10000, 0, 0}), "");
  CHECK_EQ(shadow_stack_problem(mm, {true, 0x50000, 0x30000, 0x10000}), "");
  // some of it unmapped
  CHECK_EQ(shadow_stack_problem(mm, {true, 0x40008, 0x20000, 0x40000}), "");
  for (const std::uint64_t pointer : {0x2fff8ULL, 0x40004ULL, 0x50008ULL, ~0ULL})
    CHECK_EQ(shadow_stack_problem(mm, {true, pointer, 0, 0}),
             fmt::format("its shadow stack pointer {:#x} is in no shadow stack", pointer));
  CHECK_EQ(shadow_stack_problem(mm, {false, 0, 0x1f000, 0x2000}),
           "its shadow stack of 0x2000 bytes at 0x1f000 is other memory");
  CHECK_EQ(shadow_stack_problem(mm, {false, 0, 0x30000, ~0ULL}),
           "its shadow stack of 0xffffffffffffffff bytes at 0x30000 is other memory");
}

TEST("shadow stacks: the machine") {
  ContextBuilder builder = ContextBuilder::smallest(own_arch());
  builder.context.header.page_size = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
  builder.process().head.pid = 3999999;
  Findings none, findings;
  const CheckInput input{builder.context, builder.context.processes.front(), {}, {}};
  check_shadow_stacks(input, none);
  CHECK(none.problems.empty());
  builder.context.mms.at(1).vmas.push_back(vma(0x30000, 0x50000, CRYO_VMA_SHADOW_STACK));
  if (::syscall(kMapShadowStack, 0, builder.context.header.page_size, 0) != -1) return;
  check_shadow_stacks(input, findings);
  CHECK_EQ(findings.problems.size(), 1U);
  if (findings.problems.empty()) return;
  CHECK_EQ(findings.problems.front().code, kErrBadArch);
  CHECK_EQ(findings.problems.front().text,
           "pid 3999999: has memory for shadow stacks, which this machine lacks");
}

}  // namespace
}  // namespace cryo::test
