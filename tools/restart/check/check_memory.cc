// SPDX-License-Identifier: GPL-2.0-only
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/exit_codes.h"
#include "restart/check/check.h"
#include "restart/common/proc_files.h"
#include "restart/common/restart_arch.h"
#include "restart/memory/aio.h"
#include "restart/memory/guards.h"
#include "restart/memory/mempolicy.h"
#include "restart/memory/resources.h"
#include "restart/memory/tags.h"
#include "restart/memory/vdso.h"
#include "restart/memory/vma_names.h"
#include "restart/rights/credentials.h"
#include "stub_arch.h"

namespace cryo {
namespace {

bool is_inside(const Thread& thread, const AddressRange& range) {
  const std::uint64_t at = instruction_pointer(thread.regsets);
  return at >= range.start && at < range.end;
}

void check_vdso(const CheckInput& input, const Mm& mm, Findings& findings) {
  const std::int32_t pid = input.process.head.pid;
  if (keeps_own_vdso(input.context, mm, own_vdso())) return;
  const std::string problem = vdso_problem(input.context, mm, own_vdso());
  if (!problem.empty())
    findings.problem(
        kErrBadArch,
        "pid {}: the code that the kernel maps into every process (vdso) is not that of the kernel "
        "on which the context was made ({}), {}",
        pid, reinterpret_cast<const char*>(input.context.system.release), problem);
}

// Those of the first one are moved together with the memory.
void check_place(const CheckInput& input, Findings& findings) {
  const Mm& mm = input.context.mm(input.process.head.mm);
  if (keeps_own_vdso(input.context, mm, own_vdso())) return;
  for (const Thread& thread : input.process.threads)
    if (is_inside(thread, span_of(kernel_mappings(mm))))
      findings.problem(kErrBadArch,
                       "pid {}: thread {} was executing in the vdso, which differs here, and shares "
                       "its memory with another process",
                       input.process.head.pid, thread.head.tid);
}

void check_vma(const CheckInput& input, const cryo_vma& vma, Findings& findings) {
  const std::int32_t pid = input.process.head.pid;
  if (vma.kind == CRYO_VMA_VSYSCALL) return;
  if (vma.kind > CRYO_VMA_AIO)
    findings.problem(EOPNOTSUPP, "pid {}: unknown kind of memory ({}) at {:#x}-{:#x}", pid, vma.kind,
                     vma.start, vma.end);
  if (vma.end > stub::address_end())
    findings.problem(EOPNOTSUPP, "pid {}: memory at {:#x}-{:#x} is above the addresses of this kernel", pid,
                     vma.start, vma.end);
}

// Whether this machine has keys at all; the process gets them when its memory is made.
void check_keys(const CheckInput& input, const Mm& mm, Findings& findings) {
  if (mm.head.pkeys == 0) return;
  const long key = ::syscall(SYS_pkey_alloc, 0, 0);
  if (key < 0)
    findings.problem(kErrBadArch, "pid {}: has allocated memory protection keys, which this machine lacks",
                     input.process.head.pid);
  else
    ::syscall(SYS_pkey_free, key);
}

void check_locked(const CheckInput& input, const Mm& mm, Findings& findings) {
  std::uint64_t locked = 0;
  for (const cryo_vma& vma : mm.vmas)
    if (vma.flags & CRYO_VMA_LOCKED) locked += vma.end - vma.start;
  rlimit limit;
  if (locked == 0 || capable(input.own, CAP_IPC_LOCK) || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return;
  std::uint64_t allowed = limit.rlim_max;
  if (input.process.rlimits.size() > RLIMIT_MEMLOCK)
    allowed = std::max<std::uint64_t>(allowed, input.process.rlimits[RLIMIT_MEMLOCK].max);
  if (locked > allowed)
    findings.problem(EPERM, "pid {}: has {} bytes of locked memory, cr_restart may lock {}",
                     input.process.head.pid, locked, allowed);
}

// Without the newline at its end.
std::string setting(const char* name) {
  const std::string text = read_proc(name);
  return text.substr(0, text.find('\n'));
}

}  // namespace

void check_aio(const Context& context, Findings& findings) {
  if (const std::string obstacle =
          aio_total_obstacle(context, setting("sys/fs/aio-nr"), setting("sys/fs/aio-max-nr"));
      !obstacle.empty())
    findings.problem(EAGAIN, "{}", obstacle);
}

void check_memory(const CheckInput& input, Findings& findings) {
  const cryo_shared_memory& shared = input.process.shared_memory;
  if (shared.mm != 0 && shared.mm != input.process.head.pid) {  // the first one's is looked at
    check_place(input, findings);
    return;
  }
  const Mm& mm = input.context.mm(input.process.head.mm);
  check_vdso(input, mm, findings);
  for (const cryo_vma& vma : mm.vmas) check_vma(input, vma, findings);
  check_keys(input, mm, findings);
  check_locked(input, mm, findings);
  for (const MemoryResource* resource : kMemoryResources)
    if (resource->check != nullptr) resource->check(input, mm, findings);
}

}  // namespace cryo
