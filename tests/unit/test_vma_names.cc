// SPDX-License-Identifier: GPL-2.0-only
// Names of anonymous memory, on a kernel that has them or has none: which of them depends on the machine of
// the test.
#include <sys/mman.h>
#include <sys/prctl.h>

#include <algorithm>

#include "restart/check/check.h"
#include "restart/common/restart_arch.h"
#include "restart/memory/vma_names.h"
#include "unit/context_builder.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

// By giving a name, where the code under test takes none away.
bool kernel_names_memory(int sharing) {
  void* tried = ::mmap(nullptr, 4096, PROT_NONE, sharing | MAP_ANONYMOUS, -1, 0);
  const bool can = ::prctl(0x53564d41 /* PR_SET_VMA */, 0, tried, 4096, "tried") == 0;
  ::munmap(tried, 4096);
  return can;
}

// The last area, of @kind, has a name.
ContextBuilder named(std::uint32_t kind) {
  ContextBuilder builder = ContextBuilder::smallest(own_arch());
  Mm& mm = builder.context.mms.at(1);
  mm.vmas.back().kind = kind;
  mm.names = {{{mm.vmas.back().start, mm.vmas.back().end}, "buffers"}};
  return builder;
}

bool is_told(const ContextBuilder& builder) {
  Findings findings;
  check_memory({builder.context, builder.context.processes.front(), {}, {}}, findings);
  const std::string lost =
      fmt::format("pid {}: names of anonymous memory are lost: this kernel does not keep them",
                  builder.context.processes.front().head.pid);
  return std::find(findings.notes.begin(), findings.notes.end(), lost) != findings.notes.end();
}

TEST("names of memory: told of when they are lost") {
  CHECK_EQ(is_told(named(CRYO_VMA_ANON)), !kernel_names_memory(MAP_PRIVATE));
  CHECK_EQ(is_told(named(CRYO_VMA_SHMEM)), !kernel_names_memory(MAP_SHARED));
  ContextBuilder without = named(CRYO_VMA_ANON);
  without.context.mms.at(1).names.clear();
  CHECK(!is_told(without));
}

}  // namespace
}  // namespace cryo::test
