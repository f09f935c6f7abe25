// SPDX-License-Identifier: GPL-2.0-only
#include "restart/common/restart_arch.h"

#include <cryo/arch/ppc64le.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "restart/process/hwcap.h"
#include "restart/process/regsets.h"

namespace cryo {
namespace {

// Of AT_HWCAP and AT_HWCAP2, as the kernel calls them: what processors with this architecture may lack.
constexpr HwcapNames kHwcapNames = hwcap_names(
    {{6, "archpmu"}, {7, "vsx"}, {8, "arch_2_06"}, {10, "dfp"}, {14, "smt"}, {27, "fpu"}, {28, "altivec"}});
constexpr HwcapNames kHwcap2Names = hwcap_names({{17, "mma"},
                                                 {18, "arch_3_1"},
                                                 {20, "scv"},
                                                 {21, "darn"},
                                                 {22, "ieee128"},
                                                 {23, "arch_3_00"},
                                                 {24, "htm-nosc"},
                                                 {25, "vcrypto"},
                                                 {26, "tar"},
                                                 {27, "isel"},
                                                 {28, "ebb"},
                                                 {29, "dscr"},
                                                 {30, "htm"},
                                                 {31, "arch_2_07"}});

constexpr unsigned kVsx = 7, kAltivec = 28;                         // bits of AT_HWCAP
constexpr unsigned kArch31 = 18, kTar = 26, kEbb = 28, kDscr = 29;  // of AT_HWCAP2

bool has_content(const Regset* set) {
  return set != nullptr &&
         std::any_of(set->data.begin(), set->data.end(), [](std::byte b) { return b != std::byte{0}; });
}

struct Need {
  std::uint32_t note;
  bool here;
  const char* name;
};

// Not the key of hashes: where there are none, the instructions for them do nothing.
std::vector<std::string> missing_of(const std::vector<Regset>& sets) {
  const Need needs[] = {{CRYO_PPC64LE_VMX, has_hwcap(kAltivec), "AltiVec"},
                        {CRYO_PPC64LE_VSX, has_hwcap(kVsx), "VSX"},
                        {CRYO_PPC64LE_TAR, has_hwcap2(kTar), "TAR"},
                        {CRYO_PPC64LE_DSCR, has_hwcap2(kDscr), "DSCR"},
                        {CRYO_PPC64LE_EBB, has_hwcap2(kEbb), "event-based branches"}};
  std::vector<std::string> missing;
  for (const Need& need : needs)
    if (!need.here && has_content(find_regset(sets, need.note))) missing.emplace_back(need.name);
  return missing;
}

// A call that the kernel has made ready to be made again is over for it: it must not look at the result,
// which is the first argument by now, once more.
Regset general(Regset set) {
  constexpr std::size_t kAt = offsetof(cryo_ppc64le_regs, trap);
  constexpr std::uint64_t kNoCall = 0x900;  // of the timer
  std::uint64_t trap = 0;
  if (set.data.size() < kAt + sizeof(trap)) return set;
  std::memcpy(&trap, set.data.data() + kAt, sizeof(trap));
  if (trap & CRYO_PPC64LE_TRAP_FLAGS) std::memcpy(set.data.data() + kAt, &kNoCall, sizeof(kNoCall));
  return set;
}

}  // namespace

std::uint32_t own_arch() {
  return CRYO_ARCH_PPC64LE;
}

std::vector<Regset> restart_regsets(const std::vector<Regset>& saved) {
  std::vector<Regset> sets;
  const auto add = [&](std::uint32_t note, bool wanted) {
    const Regset* set = find_regset(saved, note);
    if (set != nullptr && wanted) sets.push_back(*set);
  };
  if (const Regset* set = find_regset(saved, CRYO_PPC64LE_PRSTATUS)) sets.push_back(general(*set));
  add(CRYO_PPC64LE_PRFPREG, true);
  add(CRYO_PPC64LE_VMX, has_hwcap(kAltivec));
  add(CRYO_PPC64LE_VSX, has_hwcap(kVsx));
  add(CRYO_PPC64LE_TAR, has_hwcap2(kTar));
  add(CRYO_PPC64LE_PPR, true);
  add(CRYO_PPC64LE_DSCR, has_hwcap2(kDscr));
  add(CRYO_PPC64LE_EBB, has_hwcap2(kEbb));
  add(CRYO_PPC64LE_PMU, has_hwcap2(kEbb));
  add(CRYO_PPC64LE_HASHKEYR, has_hwcap2(kArch31));
  return sets;
}

void ask_for_registers(const Process&) {}

std::uint64_t registers_to_claim(const std::vector<Regset>&) {
  return 0;
}

int restart_protection(std::uint64_t vma_flags) {
  constexpr int kProtSao = 0x10;
  return vma_flags & CRYO_PPC64LE_VMA_SAO ? kProtSao : 0;
}

bool is_tagged(std::uint64_t) {
  return false;
}

int tagged_protection() {
  return 0;
}

ShadowStack shadow_stack(const std::vector<Regset>&) {
  return {};
}

std::uint64_t instruction_pointer(const std::vector<Regset>& sets) {
  return register_of(sets, CRYO_PPC64LE_PRSTATUS, offsetof(cryo_ppc64le_regs, nip));
}

void set_instruction_pointer(std::vector<Regset>& sets, std::uint64_t address) {
  set_register(sets, CRYO_PPC64LE_PRSTATUS, offsetof(cryo_ppc64le_regs, nip), address);
}

std::span<const VdsoFunction> vdso_functions() {
  static constexpr VdsoFunction kFunctions[] = {{"__kernel_clock_gettime", SYS_clock_gettime},
                                                {"__kernel_gettimeofday", SYS_gettimeofday},
                                                {"__kernel_clock_getres", SYS_clock_getres},
                                                {"__kernel_time", SYS_time},
                                                {"__kernel_getcpu", SYS_getcpu},
                                                {"__kernel_getrandom", SYS_getrandom},
                                                // Of numbers that are the same while the machine runs.
                                                {"__kernel_get_syscall_map", kVdsoKeep},
                                                {"__kernel_get_tbfreq", kVdsoKeep},
                                                {"__kernel_sync_dicache", kVdsoKeep},
                                                {"__kernel_sigtramp_rt64", kVdsoKeep}};
  return kFunctions;
}

// To r12, by which a function knows its own address: no argument is there.
Bytes jump_code(std::uint64_t target) {
  const auto part = [target](unsigned shift) { return static_cast<std::uint32_t>(target >> shift & 0xffff); };
  return code_of({0x3d800000 | part(48),  // lis r12
                  0x618c0000 | part(32),  // ori r12, r12
                  0x798c07c6,             // sldi r12, r12, 32
                  0x658c0000 | part(16),  // oris r12, r12
                  0x618c0000 | part(0),   // ori r12, r12
                  0x7d8903a6,             // mtctr r12
                  0x4e800420});           // bctr
}

Bytes syscall_code(long number) {
  // li r0, number; sc; blr.  An error is told in the same way by both.
  return code_of({0x38000000 | static_cast<std::uint32_t>(number & 0xffff), 0x44000002, 0x4e800020});
}

bool adapt_vdso(Bytes&, const Context&) {
  return false;
}

CodeCheck code_check(const Context&) {
  return {};
}

std::vector<CpuProblem> cpu_problems(const Context& context, const CpuBaselines&) {
  std::vector<CpuProblem> problems = register_problems(context, missing_of);
  if (problems.empty()) problems = hwcap_problems(context, kHwcapNames, kHwcap2Names);
  return problems;
}

}  // namespace cryo
