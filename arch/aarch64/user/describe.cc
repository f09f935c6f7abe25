// SPDX-License-Identifier: GPL-2.0-only
// aarch64: registers and CPU section of a context, for people.  Built on every architecture.
#include <cryo/arch/aarch64.h>
#include <fmt/format.h>

#include "context/describe_parts.h"

namespace cryo {
namespace {

constexpr std::size_t kKeyBytes = 16;
constexpr const char* kAddressKeys[] = {"ia", "ib", "da", "db"};

// 0: none, or it is not known.
std::uint32_t interrupted_error(const std::vector<Regset>& sets) {
  for (const Regset& set : sets)
    if (set.head.note == CRYO_AARCH64_CALL)
      return take<std::uint32_t>(set.data, offsetof(cryo_aarch64_call, error)).value_or(0);
  return 0;
}

// Where a system call is to be made is not told by the general registers alone.
std::optional<ThreadPlace> place(std::span<const std::byte> prstatus, const std::vector<Regset>& sets) {
  constexpr std::size_t kNumber = 8;  // the register
  const auto regs = take<cryo_aarch64_regs>(prstatus);
  if (!regs) return std::nullopt;
  ThreadPlace place{regs->pc, regs->sp, std::nullopt};
  if (interrupted_error(sets) != 0) place.syscall = regs->x[kNumber];
  return place;
}

NamedValues general_registers(std::span<const std::byte> data) {
  NamedValues values;
  const auto regs = take<cryo_aarch64_regs>(data);
  if (!regs) return values;
  for (std::size_t i = 0; i < std::size(regs->x); ++i)
    values.emplace_back(fmt::format("x{}", i), hex(regs->x[i]));
  values.emplace_back("sp", hex(regs->sp));
  values.emplace_back("pc", hex(regs->pc));
  values.emplace_back("pstate", hex(regs->pstate));
  return values;
}

NamedValues floating_state(std::span<const std::byte> data) {
  constexpr std::size_t kFpsr = 32 * 16;  // behind v0 ... v31
  NamedValues values;
  if (const auto fpsr = take<std::uint32_t>(data, kFpsr))
    values.emplace_back("fpsr", fmt::format("{:#x}", *fpsr));
  if (const auto fpcr = take<std::uint32_t>(data, kFpsr + sizeof(std::uint32_t)))
    values.emplace_back("fpcr", fmt::format("{:#x}", *fpcr));
  return values;
}

NamedValues vector_state(std::span<const std::byte> data, const char* in_use) {
  const auto head = take<cryo_aarch64_vector_head>(data);
  if (!head) return {};
  const bool active = head->size > sizeof(*head);
  return {{"vector length", fmt::format("{} bits{}", head->vl * 8,
                                        head->flags & CRYO_AARCH64_VECTOR_INHERIT ? ", inherited" : "")},
          {"longest", fmt::format("{} bits", head->max_vl * 8)},
          {"in use", active ? in_use : "no"}};
}

// Keys are secrets of a process: that they are there is enough.
NamedValues keys(std::span<const std::byte> data) {
  std::string names;
  for (std::size_t i = 0; i < std::size(kAddressKeys) && (i + 1) * kKeyBytes <= data.size(); ++i)
    names += fmt::format("{}{}", names.empty() ? "" : " ", kAddressKeys[i]);
  return {{"keys", names}};
}

std::string shadow_stack_modes(std::uint64_t modes) {
  constexpr const char* kModes[] = {"enabled", "written to", "pushed to"};
  std::string names;
  for (std::size_t i = 0; i < std::size(kModes); ++i)
    if (modes >> i & 1) names += fmt::format("{}{}", names.empty() ? "" : ", ", kModes[i]);
  return names.empty() ? "no" : names;
}

NamedValues guarded_control_stack(std::span<const std::byte> data) {
  const auto gcs = take<cryo_aarch64_gcs>(data);
  if (!gcs) return {};
  NamedValues values = {{"control stack", shadow_stack_modes(gcs->enabled)},
                        {"locked", hex(gcs->locked)},
                        {"pointer", hex(gcs->pointer)}};
  if (gcs->stack_size != 0)
    values.emplace_back("made by the kernel",
                        fmt::format("{:#x}-{:#x}", gcs->stack, gcs->stack + gcs->stack_size));
  return values;
}

// The kernel's own numbers: user space has no names for them.
const char* restart_error(std::uint32_t error) {
  switch (error) {
    case 512:
      return "ERESTARTSYS";
    case 514:
      return "ERESTARTNOHAND";
    case 516:
      return "ERESTART_RESTARTBLOCK";
    default:
      return nullptr;
  }
}

NamedValues interrupted_call(std::span<const std::byte> data) {
  const auto call = take<cryo_aarch64_call>(data);
  if (!call) return {};
  if (call->error == 0) return {{"interrupted", "no"}};
  const char* name = restart_error(call->error);
  return {{"interrupted", name != nullptr ? name : fmt::format("{}", call->error)}};
}

NamedValues registers(const Regset& regset) {
  switch (regset.head.note) {
    case CRYO_AARCH64_PRSTATUS:
      return general_registers(regset.data);
    case CRYO_AARCH64_PRFPREG:
      return floating_state(regset.data);
    case CRYO_AARCH64_TLS:
      return words(regset.data, {"tpidr", "tpidr2"});
    case CRYO_AARCH64_CALL:
      return interrupted_call(regset.data);
    case CRYO_AARCH64_SVE: {
      const auto head = take<cryo_aarch64_vector_head>(regset.data);
      const bool long_ones = head && (head->flags & CRYO_AARCH64_VECTOR_REGS_SVE);
      return vector_state(regset.data, long_ones ? "SVE" : "FP/SIMD");
    }
    case CRYO_AARCH64_SSVE:
      return vector_state(regset.data, "streaming SVE");
    case CRYO_AARCH64_ZA:
      return vector_state(regset.data, "ZA");
    case CRYO_AARCH64_PAC_MASK:
      return words(regset.data, {"signature of data", "signature of code"});
    case CRYO_AARCH64_PAC_ENABLED_KEYS:
      return words(regset.data, {"enabled keys"});
    case CRYO_AARCH64_PACA_KEYS:
      return keys(regset.data);
    case CRYO_AARCH64_PACG_KEYS:
      return {{"keys", "ga"}};
    case CRYO_AARCH64_TAGGED_ADDR_CTRL:
      return words(regset.data, {"control"});
    case CRYO_AARCH64_FPMR:
      return words(regset.data, {"fpmr"});
    case CRYO_AARCH64_POE:
      return words(regset.data, {"por"});
    case CRYO_AARCH64_GCS:
      return guarded_control_stack(regset.data);
    default:
      return {};
  }
}

NamedValues cpu(std::span<const std::byte> payload) {
  const auto head = take<cryo_aarch64_cpu>(payload);
  if (!head) return {};
  NamedValues values = {{"implementer", fmt::format("{:#x}", head->midr >> 24 & 0xff)},
                        {"part", fmt::format("{:#x}", head->midr >> 4 & 0xfff)},
                        {"variant", fmt::format("{:#x}", head->midr >> 20 & 0xf)},
                        {"revision", fmt::format("{}", head->midr & 0xf)},
                        {"counter", fmt::format("{} Hz", head->counter_hz)}};
  if (head->isar1 != 0) values.emplace_back("isar1", hex(head->isar1));
  if (head->isar2 != 0) values.emplace_back("isar2", hex(head->isar2));
  return values;
}

}  // namespace

const ArchDescription kDescribeAarch64 = {CRYO_ARCH_AARCH64, "aarch64", place,
                                          registers,         cpu,       {0200000, 0400000, 040000, 0100000}};

}  // namespace cryo
