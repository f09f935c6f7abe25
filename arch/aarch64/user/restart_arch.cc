// SPDX-License-Identifier: GPL-2.0-only
#include "restart/common/restart_arch.h"

#include <cryo/arch/aarch64.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "restart/process/hwcap.h"
#include "restart/process/regsets.h"
#include "return_addresses.h"

namespace cryo {
namespace {

// Bits of AT_HWCAP and AT_HWCAP2, lowest first, as the kernel calls them; from bit 32 on only what newer
// headers have.
constexpr HwcapNames kHwcapNames = {
    "fp",    "asimd",   "evtstrm", "aes",      "pmull", "sha1",     "sha2",  "crc32", "atomics",
    "fphp",  "asimdhp", "cpuid",   "asimdrdm", "jscvt", "fcma",     "lrcpc", "dcpop", "sha3",
    "sm3",   "sm4",     "asimddp", "sha512",   "sve",   "asimdfhm", "dit",   "uscat", "ilrcpc",
    "flagm", "ssbs",    "sb",      "paca",     "pacg",  "gcs"};
constexpr HwcapNames kHwcap2Names = {
    "dcpodp",    "sve2",      "sveaes",  "svepmull",  "svebitperm", "svesha3",    "svesm4",
    "flagm2",    "frint",     "svei8mm", "svef32mm",  "svef64mm",   "svebf16",    "i8mm",
    "bf16",      "dgh",       "rng",     "bti",       "mte",        "ecv",        "afp",
    "rpres",     "mte3",      "sme",     "smei16i64", "smef64f64",  "smei8i32",   "smef16f32",
    "smeb16f32", "smef32f32", "smefa64", "wfxt",      "ebf16",      "sveebf16",   "cssc",
    "rprfm",     "sve2p1",    "sme2",    "sme2p1",    "smei16i32",  "smebi32i32", "smeb16b16",
    "smef16f16", "mops",      "hbc",     "sveb16b16", "lrcpc3",     "lse128",     "fpmr"};

constexpr unsigned kSve = 22, kPacA = 30, kPacG = 31, kGcs = 32;             // bits of AT_HWCAP
constexpr unsigned kMte = 18, kSme = 23, kSme2 = 37, kFpmr = 48, kPoe = 63;  // of AT_HWCAP2

constexpr int kProtMte = 0x20;

cryo_aarch64_vector_head head_of(const Regset& set) {
  cryo_aarch64_vector_head head{};
  std::memcpy(&head, set.data.data(), std::min(sizeof(head), set.data.size()));
  return head;
}

// Are there registers in that mode, besides the vector length?
bool is_active(const Regset* set) {
  return set != nullptr && set->data.size() > sizeof(cryo_aarch64_vector_head);
}

bool has_long_vectors(const Regset* set) {
  return is_active(set) && head_of(*set).flags & CRYO_AARCH64_VECTOR_REGS_SVE;
}

// The kernel sets the length asked for, or the next shorter one that the CPU has.
bool can_have_length(int get, int set, std::uint16_t length) {
  const int before = ::prctl(get);
  if (before < 0) return false;
  const int got = ::prctl(set, length);
  ::prctl(set, before);
  return got >= 0 && (got & PR_SVE_VL_LEN_MASK) == length;
}

// PR_SME_*, which not every C library knows.
constexpr int kSmeSetLength = 63, kSmeGetLength = 64;

// The set as the module takes it; zero of a CPU that has none.
cryo_aarch64_gcs gcs_of(const std::vector<Regset>& sets) {
  cryo_aarch64_gcs gcs{};
  const Regset* set = find_regset(sets, CRYO_AARCH64_GCS);
  if (set != nullptr) std::memcpy(&gcs, set->data.data(), std::min(sizeof(gcs), set->data.size()));
  return gcs;
}

bool was_interrupted(const std::vector<Regset>& sets) {
  // One word with the number of the call, which is the lower half of it.
  static_assert(offsetof(cryo_aarch64_call, error) == sizeof(std::uint32_t));
  return register_of(sets, CRYO_AARCH64_CALL, 0) >> 32 != 0;
}

std::vector<std::string> missing_of(const std::vector<Regset>& sets) {
  std::vector<std::string> missing;
  const Regset* sve = find_regset(sets, CRYO_AARCH64_SVE);
  const Regset* streaming = find_regset(sets, CRYO_AARCH64_SSVE);
  const Regset* za = find_regset(sets, CRYO_AARCH64_ZA);
  if (has_long_vectors(sve)) {
    const std::uint16_t length = head_of(*sve).vl;
    if (!has_hwcap(kSve))
      missing.push_back("SVE");
    else if (!can_have_length(PR_SVE_GET_VL, PR_SVE_SET_VL, length))
      missing.push_back(fmt::format("SVE vectors of {} bits", length * 8));
  }
  if (is_active(streaming) || is_active(za)) {
    const std::uint16_t length = head_of(is_active(za) ? *za : *streaming).vl;
    if (!has_hwcap2(kSme))
      missing.push_back("SME");
    else if (!can_have_length(kSmeGetLength, kSmeSetLength, length))
      missing.push_back(fmt::format("SME vectors of {} bits", length * 8));
  }
  // Addresses are signed with them: without, their checks are no operations, and fail to strip the signature.
  if (find_regset(sets, CRYO_AARCH64_PACA_KEYS) != nullptr && !has_hwcap(kPacA))
    missing.push_back("pointer authentication");
  if (gcs_of(sets).enabled != 0 && !has_hwcap(kGcs)) missing.push_back("guarded control stacks");
  return missing;
}

}  // namespace

std::uint32_t own_arch() {
  return CRYO_ARCH_AARCH64;
}

// SVE holds all of PRFPREG and sets the vector length. Streaming mode comes after it, because to set SVE is
// to leave streaming mode; and ZT0, which is a part of ZA, after that.
std::vector<Regset> restart_regsets(const std::vector<Regset>& saved) {
  std::vector<Regset> sets;
  const auto add = [&](std::uint32_t note, bool wanted) {
    const Regset* set = find_regset(saved, note);
    if (set != nullptr && wanted) sets.push_back(*set);
    return set != nullptr && wanted;
  };
  const bool streaming = is_active(find_regset(saved, CRYO_AARCH64_SSVE));
  const bool za = is_active(find_regset(saved, CRYO_AARCH64_ZA));
  add(CRYO_AARCH64_PRSTATUS, true);
  add(CRYO_AARCH64_CALL, was_interrupted(saved));
  if (!add(CRYO_AARCH64_SVE, has_hwcap(kSve))) add(CRYO_AARCH64_PRFPREG, true);
  add(CRYO_AARCH64_ZA, has_hwcap2(kSme));
  add(CRYO_AARCH64_SSVE, streaming && has_hwcap2(kSme));
  add(CRYO_AARCH64_ZT, za && has_hwcap2(kSme2));
  add(CRYO_AARCH64_TLS, true);
  add(CRYO_AARCH64_PACA_KEYS, has_hwcap(kPacA));
  add(CRYO_AARCH64_PACG_KEYS, has_hwcap(kPacG));
  add(CRYO_AARCH64_PAC_ENABLED_KEYS, has_hwcap(kPacA));
  add(CRYO_AARCH64_TAGGED_ADDR_CTRL, true);
  add(CRYO_AARCH64_FPMR, has_hwcap2(kFpmr));
  add(CRYO_AARCH64_POE, has_hwcap2(kPoe));
  add(CRYO_AARCH64_GCS, has_hwcap(kGcs));
  return sets;
}

void ask_for_registers(const Process&) {}

std::uint64_t registers_to_claim(const std::vector<Regset>&) {
  return 0;
}

int restart_protection(std::uint64_t vma_flags) {
  constexpr int kProtBti = 0x10;
  return (vma_flags & CRYO_AARCH64_VMA_BTI ? kProtBti : 0) | (is_tagged(vma_flags) ? kProtMte : 0);
}

bool is_tagged(std::uint64_t vma_flags) {
  return vma_flags & CRYO_AARCH64_VMA_MTE;
}

int tagged_protection() {
  return has_hwcap2(kMte) ? kProtMte : 0;
}

ShadowStack shadow_stack(const std::vector<Regset>& sets) {
  const cryo_aarch64_gcs gcs = gcs_of(sets);
  return {(gcs.enabled & 1) != 0, gcs.pointer, gcs.stack, gcs.stack_size};
}

std::uint64_t instruction_pointer(const std::vector<Regset>& sets) {
  return register_of(sets, CRYO_AARCH64_PRSTATUS, offsetof(cryo_aarch64_regs, pc));
}

void set_instruction_pointer(std::vector<Regset>& sets, std::uint64_t address) {
  set_register(sets, CRYO_AARCH64_PRSTATUS, offsetof(cryo_aarch64_regs, pc), address);
}

std::span<const VdsoFunction> vdso_functions() {
  static constexpr VdsoFunction kFunctions[] = {{"__kernel_clock_gettime", SYS_clock_gettime},
                                                {"__kernel_gettimeofday", SYS_gettimeofday},
                                                {"__kernel_clock_getres", SYS_clock_getres},
                                                {"__kernel_getrandom", SYS_getrandom},
                                                {"__kernel_rt_sigreturn", kVdsoKeep}};
  return kFunctions;
}

Bytes jump_code(std::uint64_t target) {
  // bti c; ldr x16, . + 8; br x16
  Bytes code = code_of({0xd503245f, 0x58000050, 0xd61f0200});
  const auto* bytes = reinterpret_cast<const std::byte*>(&target);
  code.insert(code.end(), bytes, bytes + sizeof(target));
  return code;
}

Bytes syscall_code(long number) {
  // bti c; mov x8, number; svc 0; ret
  return code_of({0xd503245f, 0xd2800008 | static_cast<std::uint32_t>(number) << 5, 0xd4000001, 0xd65f03c0});
}

bool adapt_vdso(Bytes& image, const Context& context) {
  const Signing saved = signing_of(context);
  return differ(saved, own_signing()) && drop_signatures(image, saved.bits);
}

CodeCheck code_check(const Context& context) {
  const Signing saved = signing_of(context);
  if (!differ(saved, own_signing())) return {};
  const std::string text = fmt::format(
      "signs return addresses (pointer authentication; {}), and here it would do so otherwise ({})",
      describe(saved), describe(own_signing()));
  return
      [text](std::span<const std::byte> code) { return signs_return_addresses(code) ? text : std::string(); };
}

std::vector<CpuProblem> cpu_problems(const Context& context, const CpuBaselines&) {
  std::vector<CpuProblem> problems = register_problems(context, missing_of);
  if (problems.empty()) problems = hwcap_problems(context, kHwcapNames, kHwcap2Names);
  return problems;
}

}  // namespace cryo
