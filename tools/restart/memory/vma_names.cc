// SPDX-License-Identifier: GPL-2.0-only
#include "restart/memory/vma_names.h"

#include <sys/mman.h>
#include <sys/prctl.h>

#include <algorithm>

#include "restart/memory/memory_steps.h"
#include "restart/memory/resources.h"

namespace cryo {
namespace {

const StepKind kVmaNameStep("name anonymous memory",
                            [](const FailedCall& call) { return area_message("name", call); });

constexpr int kSetVma = 0x53564d41;  // PR_SET_VMA, which not every C library knows
constexpr int kAnonName = 0;         // PR_SET_VMA_ANON_NAME

// To take a name away, even from memory that has none, is refused as to give one.
bool can_name(int sharing) {
  constexpr std::size_t kAny = 4096;
  void* tried = ::mmap(nullptr, kAny, PROT_NONE, sharing | MAP_ANONYMOUS, -1, 0);
  if (tried == MAP_FAILED) return false;
  const bool can = ::prctl(kSetVma, kAnonName, tried, kAny, nullptr) == 0;
  ::munmap(tried, kAny);
  return can;
}

// What this kernel can name, asked for once.
struct Nameable {
  bool private_memory = can_name(MAP_PRIVATE);
  bool shared_memory = can_name(MAP_SHARED);

  [[nodiscard]] bool has(const cryo_vma& vma) const {
    return vma.kind == CRYO_VMA_SHMEM ? shared_memory : private_memory;
  }
};

// The index of the area that has it.
std::uint32_t area_of(const Mm& mm, const VmaName& name) {
  const auto vma = std::lower_bound(mm.vmas.begin(), mm.vmas.end(), name.head.start,
                                    [](const cryo_vma& v, std::uint64_t start) { return v.start < start; });
  return static_cast<std::uint32_t>(vma - mm.vmas.begin());
}

}  // namespace

void plan_vma_names(const Context&, const Mm& mm, CallList& calls, StubArea& area) {
  if (mm.names.empty()) return;
  const Nameable nameable;
  for (const VmaName& name : mm.names) {
    const std::uint32_t index = area_of(mm, name);
    if (!nameable.has(mm.vmas[index])) continue;
    std::vector<char> text(name.text.begin(), name.text.end());
    text.push_back('\0');
    calls.add(kVmaNameStep, index, SYS_prctl, kSetVma, kAnonName, name.head.start,
              name.head.end - name.head.start, area.copy(text));
  }
}

bool loses_vma_names(const Mm& mm) {
  if (mm.names.empty()) return false;
  const Nameable nameable;
  return !std::all_of(mm.names.begin(), mm.names.end(),
                      [&](const VmaName& name) { return nameable.has(mm.vmas[area_of(mm, name)]); });
}

namespace {

void check_names(const CheckInput& input, const Mm& mm, Findings& findings) {
  if (loses_vma_names(mm))
    findings.note("pid {}: names of anonymous memory are lost: this kernel does not keep them",
                  input.process.head.pid);
}

// Of a call and the name, at most.
std::size_t names_size(const Mm& mm) {
  return mm.names.size() * (sizeof(stub::Call) + CRYO_VMA_NAME_MAX + 1 + 16);
}

}  // namespace

const MemoryResource kVmaNamesResource = {.check = check_names, .plan = plan_vma_names, .size = names_size};

}  // namespace cryo
