// SPDX-License-Identifier: GPL-2.0-only
#include "restart/common/restart_arch.h"

#include <cpuid.h>
#include <cryo/arch/x86_64.h>
#include <elf.h>
#include <fmt/ranges.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <initializer_list>

#include "base/error.h"
#include "restart/process/regsets.h"
#include "x86_features.h"
#include "xstate.h"

namespace cryo {
namespace {

void read_features(cryo_x86_64_cpu& cpu) {
  std::uint32_t eax, ebx, ecx, edx;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) cpu.cpuid[CRYO_X86_64_1_ECX] = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
    cpu.cpuid[CRYO_X86_64_7_EBX] = ebx;
    cpu.cpuid[CRYO_X86_64_7_ECX] = ecx;
    cpu.cpuid[CRYO_X86_64_7_EDX] = edx;
    if (eax >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx)) cpu.cpuid[CRYO_X86_64_7_1_EAX] = eax;
  }
  if (__get_cpuid_count(0xd, 1, &eax, &ebx, &ecx, &edx)) cpu.cpuid[CRYO_X86_64_D_1_EAX] = eax;
  if (__get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx)) {
    cpu.cpuid[CRYO_X86_64_80000001_ECX] = ecx;
    cpu.cpuid[CRYO_X86_64_80000001_EDX] = edx;
  }
}

cryo_x86_64_cpu own_cpu() {
  cryo_x86_64_cpu cpu{};
  const XstateLayout xstate = own_xstate();
  read_features(cpu);
  cpu.xcr0 = xstate.components;
  cpu.xstate_size = static_cast<std::uint32_t>(xstate.size);
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

constexpr int kRequestPermission = 0x1023;                         // ARCH_REQ_XCOMP_PERM
constexpr std::size_t kXstateInUse = 512;                          // XSTATE_BV
constexpr std::uint64_t kXstateOnDemand = std::uint64_t{1} << 18;  // as Linux has it: AMX data

std::uint64_t requested_registers(const Process& process) {
  std::uint64_t requested = 0;
  for (const Thread& thread : process.threads)
    requested |= register_of(thread.regsets, CRYO_X86_64_XCOMP_PERM, 0);
  return requested;
}

// Zero of a thread that has none, and may get one.
cryo_x86_64_shstk shstk_of(const std::vector<Regset>& sets) {
  cryo_x86_64_shstk shstk{};
  const Regset* set = find_regset(sets, CRYO_X86_64_SHSTK);
  if (set != nullptr) std::memcpy(&shstk, set->data.data(), std::min(sizeof(shstk), set->data.size()));
  return shstk;
}

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

}  // namespace

std::uint32_t own_arch() {
  return CRYO_ARCH_X86_64;
}

std::vector<Regset> restart_regsets(const std::vector<Regset>& saved) {
  std::vector<Regset> sets;
  if (const Regset* general = find_regset(saved, NT_PRSTATUS)) sets.push_back(*general);
  const XstateLayout own = own_xstate();
  const Regset* xstate = find_regset(saved, NT_X86_XSTATE);
  if (xstate != nullptr && own.size != 0 && own.size <= kMaxRegsetSize) {
    sets.push_back({xstate->head, convert_xstate(xstate->data, own)});
  } else if (const Regset* floating = find_regset(saved, NT_PRFPREG)) {
    sets.push_back(*floating);
  }
  if (const Regset* stack = find_regset(saved, CRYO_X86_64_SHSTK)) sets.push_back(*stack);
  return sets;
}

void ask_for_registers(const Process& process) {
  for (std::uint64_t asked = requested_registers(process); asked != 0; asked &= asked - 1) {
    const int component = std::countr_zero(asked);
    if (::syscall(SYS_arch_prctl, kRequestPermission, component) != 0)
      fail_errno("pid {}: registers that it had asked for ({})", process.head.pid,
                 component_names(std::uint64_t{1} << component));
  }
}

std::uint64_t registers_to_claim(const std::vector<Regset>& sets) {
  return register_of(sets, NT_X86_XSTATE, kXstateInUse) & kXstateOnDemand;
}

int restart_protection(std::uint64_t) {
  return 0;
}

bool is_tagged(std::uint64_t) {
  return false;
}

int tagged_protection() {
  return 0;
}

ShadowStack shadow_stack(const std::vector<Regset>& sets) {
  const cryo_x86_64_shstk shstk = shstk_of(sets);
  return {(shstk.enabled & 1) != 0, shstk.pointer, shstk.stack, shstk.stack_size};
}

std::uint64_t instruction_pointer(const std::vector<Regset>& sets) {
  return register_of(sets, NT_PRSTATUS, offsetof(cryo_x86_64_regs, rip));
}

void set_instruction_pointer(std::vector<Regset>& sets, std::uint64_t address) {
  set_register(sets, NT_PRSTATUS, offsetof(cryo_x86_64_regs, rip), address);
}

std::span<const VdsoFunction> vdso_functions() {
  static constexpr VdsoFunction kFunctions[] = {{"__vdso_clock_gettime", SYS_clock_gettime},
                                                {"__vdso_gettimeofday", SYS_gettimeofday},
                                                {"__vdso_time", SYS_time},
                                                {"__vdso_clock_getres", SYS_clock_getres},
                                                {"__vdso_getcpu", SYS_getcpu},
                                                {"__vdso_getrandom", SYS_getrandom},
                                                // Atomic operations on the program's memory, v7.2
                                                {"__vdso_futex_robust_list64_try_unlock", kVdsoKeep},
                                                {"__vdso_futex_robust_list32_try_unlock", kVdsoKeep},
                                                {"__vdso_sgx_enter_enclave", kVdsoKeep}};
  return kFunctions;
}

Bytes jump_code(std::uint64_t target) {
  // mov $target, %rax; jmp *%rax.  No argument is in rax.
  Bytes code = bytes_of({0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0});
  std::memcpy(code.data() + 2, &target, sizeof(target));
  return code;
}

Bytes syscall_code(long number) {
  // mov $number, %eax; syscall; ret
  Bytes code = bytes_of({0xb8, 0, 0, 0, 0, 0x0f, 0x05, 0xc3});
  const auto eax = static_cast<std::uint32_t>(number);
  std::memcpy(code.data() + 1, &eax, sizeof(eax));
  return code;
}

namespace {

void check_registers(const Context& context, std::vector<CpuProblem>& problems) {
  const XstateLayout own = own_xstate();
  for (const Process& process : context.processes) {
    if (const std::uint64_t missing = requested_registers(process) & ~own.components; missing != 0)
      problems.push_back({fmt::format("pid {} has asked for registers that this CPU lacks: {}",
                                      process.head.pid, component_names(missing)),
                          true});
    for (const Thread& thread : process.threads) {
      const Regset* xstate = find_regset(thread.regsets, NT_X86_XSTATE);
      if (xstate == nullptr) continue;
      const std::uint64_t in_use = xstate_in_use(xstate->data), missing = in_use & ~own.components;
      if (missing != 0)
        problems.push_back({fmt::format("thread {} has register contents that this CPU cannot hold: {}",
                                        thread.head.tid, component_names(missing)),
                            true});
      else if (in_use > kXstateLegacy && !xstate_layout(xstate->data))
        problems.push_back({fmt::format("thread {} has register contents in an order that is not known: {}",
                                        thread.head.tid, component_names(in_use)),
                            true});
    }
  }
}

// The highest; 0: a process has been started without one.
int level_of(const CpuBaselines& baselines) {
  int highest = 0;
  for (const std::string& name : baselines) {
    const std::optional<int> level = x86_64_level(name);
    if (!level) return 0;
    highest = std::max(highest, *level);
  }
  return highest;
}

std::vector<std::string> missing_of(const cryo_x86_64_cpu& saved, const cryo_x86_64_cpu& own) {
  std::vector<std::string> missing = x86_64_features(saved, own);
  if (saved.xcr0 & ~own.xcr0)
    missing.push_back(fmt::format("state components {}", component_names(saved.xcr0 & ~own.xcr0)));
  return missing;
}

}  // namespace

bool adapt_vdso(Bytes&, const Context&) {
  return false;
}

CodeCheck code_check(const Context&) {
  return {};
}

std::vector<CpuProblem> cpu_problems(const Context& context, const CpuBaselines& baselines) {
  std::vector<CpuProblem> problems;
  check_registers(context, problems);
  if (!problems.empty() || context.cpu.size() < offsetof(cryo_x86_64_cpu, cpuid)) return problems;
  const cryo_x86_64_cpu own = own_cpu();
  cryo_x86_64_cpu saved = x86_64_cpu(context.cpu);
  if (!has_x86_64_cpuid(context.cpu)) std::fill(std::begin(saved.cpuid), std::end(saved.cpuid), 0);
  std::vector<std::string> missing = missing_of(saved, own);
  const int level = level_of(baselines);
  if (level != 0) {
    if (!missing.empty())
      problems.push_back({fmt::format("this CPU lacks what a program that does not keep to {} could use: {}",
                                      fmt::join(baselines, ", "), fmt::join(missing, ", ")),
                          false, true});
    missing = x86_64_features(x86_64_within_level(saved, level), own);
  }
  if (!missing.empty())
    problems.push_back({fmt::format("this CPU lacks what programs could use where the context was made: {}",
                                    fmt::join(missing, ", ")),
                        false});
  return problems;
}

}  // namespace cryo
