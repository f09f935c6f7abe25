// SPDX-License-Identifier: GPL-2.0-only
#include "restart/restart_arch.h"

#include <cpuid.h>
#include <cryo/arch/x86_64.h>
#include <elf.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace cryo {
namespace {

constexpr std::size_t kXstateBv = 512;  // of the XSAVE header: components not in their initial state

struct Cpu {
  std::uint64_t xcr0 = 0;
  std::uint32_t xstate_size = 0;
  std::string vendor;
};

Cpu own_cpu() {
  Cpu cpu;
  std::uint32_t eax, ebx, ecx, edx;
  char vendor[13] = {};
  __cpuid(0, eax, ebx, ecx, edx);
  std::memcpy(vendor, &ebx, 4);
  std::memcpy(vendor + 4, &edx, 4);
  std::memcpy(vendor + 8, &ecx, 4);
  cpu.vendor = vendor;
  __cpuid(1, eax, ebx, ecx, edx);
  if (!(ecx & bit_OSXSAVE)) return cpu;
  std::uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  cpu.xcr0 = static_cast<std::uint64_t>(high) << 32 | low;
  __cpuid_count(0xd, 0, eax, ebx, ecx, edx);
  cpu.xstate_size = ebx;  // for all components in XCR0
  return cpu;
}

std::string component_names(std::uint64_t mask) {
  static constexpr const char* kNames[] = {
      "x87",          "SSE", "AVX",  "MPX bounds", "MPX config", "AVX-512 masks", "AVX-512",
      "AVX-512 high", "PT",  "PKRU", "PASID",      "CET user",   "CET kernel",    "HDC",
      "UINTR",        "LBR", "HWP",  "AMX config", "AMX data"};
  std::string names;
  for (std::size_t bit = 0; bit < 64; ++bit) {
    if (!(mask >> bit & 1)) continue;
    if (!names.empty()) names += ", ";
    names += bit < std::size(kNames) ? kNames[bit] : fmt::format("component {}", bit);
  }
  return names;
}

const Regset* find(const std::vector<Regset>& sets, std::uint32_t note) {
  const auto set =
      std::find_if(sets.begin(), sets.end(), [note](const Regset& s) { return s.head.note == note; });
  return set == sets.end() ? nullptr : &*set;
}

std::uint64_t in_use(const Thread& thread) {
  std::uint64_t mask = 0;
  const Regset* xstate = find(thread.regsets, NT_X86_XSTATE);
  if (xstate != nullptr && xstate->data.size() >= kXstateBv + sizeof(mask))
    std::memcpy(&mask, xstate->data.data() + kXstateBv, sizeof(mask));
  return mask;
}

}  // namespace

std::uint32_t own_arch() {
  return CRYO_ARCH_X86_64;
}

std::vector<Regset> restart_regsets(const std::vector<Regset>& saved) {
  std::vector<Regset> sets;
  if (const Regset* general = find(saved, NT_PRSTATUS)) sets.push_back(*general);
  const std::uint32_t size = own_cpu().xstate_size;
  const Regset* xstate = find(saved, NT_X86_XSTATE);
  if (xstate != nullptr && size != 0) {
    sets.push_back(*xstate);
    // Components that only one of the two CPUs has are in their initial state (cpu_problems()), which
    // the header says: their bytes do not count, but the kernel wants its own size.
    sets.back().data.resize(std::min<std::size_t>(size, kMaxRegsetSize));
  } else if (const Regset* floating = find(saved, NT_PRFPREG)) {
    sets.push_back(*floating);
  }
  return sets;
}

int restart_protection(std::uint64_t) {
  return 0;
}

std::vector<CpuProblem> cpu_problems(const Context& context) {
  std::vector<CpuProblem> problems;
  const Cpu own = own_cpu();
  for (const Process& process : context.processes)
    for (const Thread& thread : process.threads) {
      const std::uint64_t missing = in_use(thread) & ~own.xcr0;
      if (missing != 0)
        problems.push_back({fmt::format("thread {} has register contents that this CPU cannot hold: {}",
                                        thread.head.tid, component_names(missing)),
                            true});
    }
  cryo_x86_64_cpu saved{};
  if (context.cpu.size() < sizeof(saved)) return problems;
  std::memcpy(&saved, context.cpu.data(), sizeof(saved));
  const std::uint64_t missing = saved.xcr0 & ~own.xcr0;
  if (problems.empty() && missing != 0)
    problems.push_back({fmt::format("this CPU lacks what programs could use where the context was made: {}",
                                    component_names(missing)),
                        false});
  return problems;
}

}  // namespace cryo
