// SPDX-License-Identifier: GPL-2.0-only
// ppc64le: registers and CPU section of a context, for people.  Built on every architecture.
#include <cryo/arch/ppc64le.h>
#include <fmt/format.h>

#include "context/describe_parts.h"

namespace cryo {
namespace {

constexpr std::size_t kVector = 16;
constexpr std::size_t kRegisters = 32;  // of each kind

// The call that it is in, if the result tells that it is not over.
std::optional<std::uint64_t> call_of(const cryo_ppc64le_regs& regs) {
  constexpr std::uint64_t kFirst = 512, kLast = 516;  // errors of the kernel's own: ERESTARTSYS and so on
  const std::uint64_t trap = regs.trap & ~std::uint64_t{CRYO_PPC64LE_TRAP_FLAGS};
  const bool done = regs.trap & CRYO_PPC64LE_TRAP_FLAGS;
  std::uint64_t error = 0;
  if (trap == CRYO_PPC64LE_TRAP_SC && regs.ccr & CRYO_PPC64LE_CR0_SO) error = regs.gpr[3];
  if (trap == CRYO_PPC64LE_TRAP_SCV) error = -regs.gpr[3];
  if (done || error < kFirst || error > kLast) return std::nullopt;
  return regs.gpr[0];
}

std::optional<ThreadPlace> place(std::span<const std::byte> prstatus, const std::vector<Regset>&) {
  const auto regs = take<cryo_ppc64le_regs>(prstatus);
  if (!regs) return std::nullopt;
  return ThreadPlace{regs->nip, regs->gpr[1], call_of(*regs)};
}

NamedValues general_registers(std::span<const std::byte> data) {
  NamedValues values;
  const auto regs = take<cryo_ppc64le_regs>(data);
  if (!regs) return values;
  for (std::size_t i = 0; i < kRegisters; ++i) values.emplace_back(fmt::format("r{}", i), hex(regs->gpr[i]));
  values.emplace_back("nip", hex(regs->nip));
  values.emplace_back("msr", hex(regs->msr));
  values.emplace_back("orig_r3", hex(regs->orig_gpr3));
  values.emplace_back("ctr", hex(regs->ctr));
  values.emplace_back("lr", hex(regs->link));
  values.emplace_back("xer", hex(regs->xer));
  values.emplace_back("cr", fmt::format("{:#010x}", regs->ccr));
  values.emplace_back("trap", fmt::format("{:#x}", regs->trap));
  return values;
}

NamedValues floating_state(std::span<const std::byte> data) {
  const auto fpscr = take<std::uint64_t>(data, kRegisters * sizeof(std::uint64_t));
  if (!fpscr) return {};
  return {{"fpscr", hex(*fpscr)}};
}

NamedValues vector_state(std::span<const std::byte> data) {
  constexpr std::size_t kVscr = kRegisters * kVector + 12, kVrsave = (kRegisters + 1) * kVector;
  NamedValues values;
  if (const auto vscr = take<std::uint32_t>(data, kVscr))
    values.emplace_back("vscr", fmt::format("{:#x}", *vscr));
  if (const auto vrsave = take<std::uint32_t>(data, kVrsave))
    values.emplace_back("vrsave", fmt::format("{:#x}", *vrsave));
  return values;
}

NamedValues registers(const Regset& regset) {
  switch (regset.head.note) {
    case CRYO_PPC64LE_PRSTATUS:
      return general_registers(regset.data);
    case CRYO_PPC64LE_PRFPREG:
      return floating_state(regset.data);
    case CRYO_PPC64LE_VMX:
      return vector_state(regset.data);
    case CRYO_PPC64LE_TAR:
      return words(regset.data, {"tar"});
    case CRYO_PPC64LE_PPR:
      return words(regset.data, {"ppr"});
    case CRYO_PPC64LE_DSCR:
      return words(regset.data, {"dscr"});
    case CRYO_PPC64LE_EBB:
      return words(regset.data, {"ebbrr", "ebbhr", "bescr"});
    case CRYO_PPC64LE_PMU:
      return words(regset.data, {"siar", "sdar", "sier", "mmcr2", "mmcr0"});
    case CRYO_PPC64LE_HASHKEYR:
      // A key is a secret of the process: that it is there is enough.
      return {{"keys", "hash"}};
    default:
      return {};
  }
}

const char* model(std::uint32_t pvr) {
  switch (pvr >> 16) {
    case 0x4b:
    case 0x4c:
    case 0x4d:
      return "POWER8";
    case 0x4e:
      return "POWER9";
    case 0x80:
      return "POWER10";
    case 0x82:
      return "POWER11";
    default:
      return "unknown";
  }
}

NamedValues cpu(std::span<const std::byte> payload) {
  const auto head = take<cryo_ppc64le_cpu>(payload);
  if (!head) return {};
  return {{"model", model(head->pvr)},
          {"version", fmt::format("{:#x}", head->pvr >> 16)},
          {"revision", fmt::format("{:#x}", head->pvr & 0xffff)},
          {"timebase", fmt::format("{} Hz", head->timebase_hz)}};
}

}  // namespace

const ArchDescription kDescribePpc64le = {CRYO_ARCH_PPC64LE, "ppc64le", place,
                                          registers,         cpu,       {0400000, 0200000, 040000, 0100000}};

}  // namespace cryo
