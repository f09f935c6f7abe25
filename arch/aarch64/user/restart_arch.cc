// SPDX-License-Identifier: GPL-2.0-only
#include "restart/restart_arch.h"

#include <cryo/arch/aarch64.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>

#include "base/error.h"

namespace cryo {
namespace {

// Bits of AT_HWCAP and AT_HWCAP2, lowest first, as the kernel calls them; from bit 32 on only what newer
// headers have.
constexpr const char* kHwcapNames[] = {
    "fp",    "asimd",   "evtstrm", "aes",      "pmull", "sha1",     "sha2",  "crc32", "atomics",
    "fphp",  "asimdhp", "cpuid",   "asimdrdm", "jscvt", "fcma",     "lrcpc", "dcpop", "sha3",
    "sm3",   "sm4",     "asimddp", "sha512",   "sve",   "asimdfhm", "dit",   "uscat", "ilrcpc",
    "flagm", "ssbs",    "sb",      "paca",     "pacg",  "gcs"};
constexpr const char* kHwcap2Names[] = {
    "dcpodp",    "sve2",      "sveaes",  "svepmull",  "svebitperm", "svesha3",    "svesm4",
    "flagm2",    "frint",     "svei8mm", "svef32mm",  "svef64mm",   "svebf16",    "i8mm",
    "bf16",      "dgh",       "rng",     "bti",       "mte",        "ecv",        "afp",
    "rpres",     "mte3",      "sme",     "smei16i64", "smef64f64",  "smei8i32",   "smef16f32",
    "smeb16f32", "smef32f32", "smefa64", "wfxt",      "ebf16",      "sveebf16",   "cssc",
    "rprfm",     "sve2p1",    "sme2",    "sme2p1",    "smei16i32",  "smebi32i32", "smeb16b16",
    "smef16f16", "mops",      "hbc",     "sveb16b16", "lrcpc3",     "lse128",     "fpmr"};

constexpr unsigned kSve = 22, kPacA = 30, kPacG = 31;             // bits of AT_HWCAP
constexpr unsigned kSme = 23, kSme2 = 37, kFpmr = 48, kPoe = 63;  // of AT_HWCAP2

bool has_hwcap(unsigned bit) {
  return ::getauxval(AT_HWCAP) >> bit & 1;
}

bool has_hwcap2(unsigned bit) {
  return ::getauxval(AT_HWCAP2) >> bit & 1;
}

const Regset* find(const std::vector<Regset>& sets, std::uint32_t note) {
  const auto set =
      std::find_if(sets.begin(), sets.end(), [note](const Regset& s) { return s.head.note == note; });
  return set == sets.end() ? nullptr : &*set;
}

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

std::vector<std::string> missing_of(const std::vector<Regset>& sets) {
  std::vector<std::string> missing;
  const Regset* sve = find(sets, CRYO_AARCH64_SVE);
  const Regset* streaming = find(sets, CRYO_AARCH64_SSVE);
  const Regset* za = find(sets, CRYO_AARCH64_ZA);
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
  if (find(sets, CRYO_AARCH64_PACA_KEYS) != nullptr && !has_hwcap(kPacA))
    missing.push_back("pointer authentication");
  return missing;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += text.empty() ? name : ", " + name;
  return text;
}

std::uint64_t auxv_value(const Mm& mm, std::uint64_t type) {
  for (std::size_t i = 0; i + 1 < mm.auxv.size(); i += 2)
    if (mm.auxv[i] == type) return mm.auxv[i + 1];
  return 0;
}

template <std::size_t N>
void add_names(std::uint64_t bits, const char* const (&names)[N], const char* word,
               std::vector<std::string>& to) {
  for (std::size_t bit = 0; bit < 64; ++bit)
    if (bits >> bit & 1) to.push_back(bit < N ? names[bit] : fmt::format("{} bit {}", word, bit));
}

Bytes words_of(std::initializer_list<std::uint32_t> words) {
  Bytes code(words.size() * sizeof(std::uint32_t));
  std::memcpy(code.data(), words.begin(), code.size());
  return code;
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
    const Regset* set = find(saved, note);
    if (set != nullptr && wanted) sets.push_back(*set);
    return set != nullptr && wanted;
  };
  const bool streaming = is_active(find(saved, CRYO_AARCH64_SSVE));
  const bool za = is_active(find(saved, CRYO_AARCH64_ZA));
  add(CRYO_AARCH64_PRSTATUS, true);
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
  return sets;
}

int restart_protection(std::uint64_t vma_flags) {
  constexpr int kProtBti = 0x10;
  return vma_flags & CRYO_AARCH64_VMA_BTI ? kProtBti : 0;
}

std::uint64_t instruction_pointer(const std::vector<Regset>& sets) {
  cryo_aarch64_regs regs{};
  const Regset* general = find(sets, CRYO_AARCH64_PRSTATUS);
  if (general != nullptr && general->data.size() >= sizeof(regs))
    std::memcpy(&regs, general->data.data(), sizeof(regs));
  return regs.pc;
}

void set_instruction_pointer(std::vector<Regset>& sets, std::uint64_t address) {
  constexpr std::size_t kAt = offsetof(cryo_aarch64_regs, pc);
  for (Regset& set : sets)
    if (set.head.note == CRYO_AARCH64_PRSTATUS && set.data.size() >= kAt + sizeof(address))
      std::memcpy(set.data.data() + kAt, &address, sizeof(address));
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
  // ldr x16, . + 8; br x16
  Bytes code = words_of({0x58000050, 0xd61f0200});
  const auto* bytes = reinterpret_cast<const std::byte*>(&target);
  code.insert(code.end(), bytes, bytes + sizeof(target));
  return code;
}

Bytes syscall_code(long number) {
  // mov x8, number; svc 0; ret
  return words_of({0xd2800008 | static_cast<std::uint32_t>(number) << 5, 0xd4000001, 0xd65f03c0});
}

std::vector<CpuProblem> cpu_problems(const Context& context, const CpuBaselines&) {
  std::vector<CpuProblem> problems;
  for (const Process& process : context.processes)
    for (const Thread& thread : process.threads) {
      const auto missing = missing_of(thread.regsets);
      if (!missing.empty())
        problems.push_back({fmt::format("thread {} has register contents that this CPU cannot hold: {}",
                                        thread.head.tid, joined(missing)),
                            true});
    }
  if (!problems.empty()) return problems;
  std::uint64_t missing = 0, missing2 = 0;
  for (const auto& [id, mm] : context.mms) {
    missing |= auxv_value(mm, AT_HWCAP) & ~::getauxval(AT_HWCAP);
    missing2 |= auxv_value(mm, AT_HWCAP2) & ~::getauxval(AT_HWCAP2);
  }
  std::vector<std::string> names;
  add_names(missing, kHwcapNames, "AT_HWCAP", names);
  add_names(missing2, kHwcap2Names, "AT_HWCAP2", names);
  if (!names.empty())
    problems.push_back(
        {fmt::format("this CPU lacks what programs could use where the context was made: {}", joined(names)),
         false});
  return problems;
}

}  // namespace cryo
