// SPDX-License-Identifier: GPL-2.0-only
#include "restart/memory/memory_steps.h"

#include "base/error.h"

namespace cryo {
namespace {

std::string area_name(const Context& context, const Process& process, std::uint32_t index) {
  const auto mm = context.mms.find(process.head.mm);
  if (mm == context.mms.end() || index >= mm->second.vmas.size()) return "memory";
  const cryo_vma& vma = mm->second.vmas[index];
  std::string name = "anonymous memory";
  if (vma.kind == CRYO_VMA_FILE)
    name = context.file(vma.file).path;
  else if (vma.kind == CRYO_VMA_SHMEM)
    name = "shared anonymous memory";
  return fmt::format("{} at {:#x}-{:#x}", name, vma.start, vma.end);
}

std::string segment_name(const Context& context, std::uint32_t inode) {
  const auto found = context.inodes.find(inode);
  return found == context.inodes.end() || !found->second.shm ? "of a file"
                                                             : std::to_string(found->second.shm->perm.id);
}

}  // namespace

std::string area_message(const char* action, const FailedCall& call) {
  return fmt::format("cannot {} {}", action, area_name(call.context, call.process, call.index));
}

const StepKind kKernelMappingStep("move the vdso", [](const FailedCall& call) {
  return fmt::format("cannot move the vdso and its data {}",
                     call.index != 0 ? "to their old place" : "aside");
});
const StepKind kUnmapStep("clear the address space", [](const FailedCall& call) {
  return fmt::format("cannot clear the address space from {:#x}", call.address);
});
const StepKind kShareStep("map shared anonymous memory");
const StepKind kAttachStep("attach System V shared memory", [](const FailedCall& call) {
  return fmt::format("cannot attach System V shared memory {}", segment_name(call.context, call.index));
});
const StepKind kMapStep("map memory", [](const FailedCall& call) { return area_message("map", call); });
const StepKind kMapContextStep("map memory from the context", [](const FailedCall& call) {
  return area_message("restore the contents of", call);
});
const StepKind kAdviseStep("restore advice about memory (madvise)", [](const FailedCall& call) {
  return area_message("restore the advice (madvise) of", call);
});
const StepKind kProtectStep("protect memory", [](const FailedCall& call) {
  return area_message("set the protection of", call);
});
const StepKind kLockMemoryStep("lock memory",
                               [](const FailedCall& call) { return area_message("lock", call); });
const StepKind kProtectionKeyStep("allocate memory protection keys", [](const FailedCall& call) {
  return fmt::format("cannot allocate memory protection key {}", call.index);
});
const StepKind kMmFieldsStep("set the addresses of code, heap, stack and arguments (PR_SET_MM_MAP)");
const StepKind kThpDisableStep("set PR_SET_THP_DISABLE");
const StepKind kMembarrierStep("register for membarrier(2)", [](const FailedCall& call) {
  return fmt::format("cannot register for membarrier command {:#x}", std::uint64_t{1} << (call.index & 63));
});

}  // namespace cryo
