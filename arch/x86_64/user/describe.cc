// SPDX-License-Identifier: GPL-2.0-only
// x86-64: registers and CPU section of a context, for people.  Built on every architecture.
#include <cryo/arch/x86_64.h>
#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <cstring>

#include "context/describe_parts.h"
#include "x86_features.h"

namespace cryo {
namespace {

constexpr const char* kRegisterNames[] = {"r15",     "r14",      "r13", "r12", "rbp",    "rbx", "r11",
                                          "r10",     "r9",       "r8",  "rax", "rcx",    "rdx", "rsi",
                                          "rdi",     "orig_rax", "rip", "cs",  "eflags", "rsp", "ss",
                                          "fs_base", "gs_base",  "ds",  "es",  "fs",     "gs"};
static_assert(std::size(kRegisterNames) * sizeof(std::uint64_t) == sizeof(cryo_x86_64_regs));

constexpr const char* kStateComponents[] = {"x87",
                                            "SSE",
                                            "AVX",
                                            "MPX bounds",
                                            "MPX config",
                                            "AVX-512 masks",
                                            "AVX-512 ZMM",
                                            "AVX-512 high ZMM",
                                            "PT",
                                            "PKRU",
                                            "PASID",
                                            "CET user",
                                            "CET supervisor",
                                            "HDC",
                                            "UINTR",
                                            "LBR",
                                            "HWP",
                                            "AMX config",
                                            "AMX tiles"};

// "x87 SSE AVX"
std::string component_names(std::uint64_t mask) {
  std::string text;
  for (std::size_t bit = 0; bit < 64; ++bit) {
    if ((mask >> bit & 1) == 0) continue;
    if (!text.empty()) text += ' ';
    text += bit < std::size(kStateComponents) ? kStateComponents[bit] : fmt::format("component-{}", bit);
  }
  return text.empty() ? "none" : text;
}

std::optional<ThreadPlace> place(std::span<const std::byte> prstatus, const std::vector<Regset>&) {
  const auto regs = take<cryo_x86_64_regs>(prstatus);
  if (!regs) return std::nullopt;
  ThreadPlace where{regs->rip, regs->rsp, std::nullopt};
  if (static_cast<std::int64_t>(regs->orig_rax) >= 0) where.syscall = regs->orig_rax;
  return where;
}

NamedValues general_registers(std::span<const std::byte> data) {
  return words(data, kRegisterNames);
}

NamedValues extended_state(std::span<const std::byte> data) {
  constexpr std::size_t kFeaturesInUse = 512;  // XSTATE_BV, start of the XSAVE header
  NamedValues values;
  if (const auto saved = take<std::uint64_t>(data, CRYO_X86_64_XSTATE_MASK_OFFSET))
    values.emplace_back("enabled", component_names(*saved));
  if (const auto in_use = take<std::uint64_t>(data, kFeaturesInUse))
    values.emplace_back("in use", component_names(*in_use));
  if (const auto mxcsr = take<std::uint32_t>(data, 24))
    values.emplace_back("mxcsr", fmt::format("{:#x}", *mxcsr));
  return values;
}

std::string shadow_stack_modes(std::uint64_t modes) {
  if ((modes & 1) == 0) return "no";
  return modes & 2 ? "enabled, written to" : "enabled";
}

NamedValues shadow_stack_of(std::span<const std::byte> data) {
  const auto shstk = take<cryo_x86_64_shstk>(data);
  if (!shstk) return {};
  NamedValues values = {{"shadow stack", shadow_stack_modes(shstk->enabled)},
                        {"locked", fmt::format("{:#x}", shstk->locked)},
                        {"pointer", fmt::format("{:#x}", shstk->pointer)}};
  if (shstk->stack_size != 0)
    values.emplace_back("made by the kernel",
                        fmt::format("{:#x}-{:#x}", shstk->stack, shstk->stack + shstk->stack_size));
  return values;
}

NamedValues registers(const Regset& regset) {
  if (regset.head.note == NT_PRSTATUS) return general_registers(regset.data);
  if (regset.head.note == NT_X86_XSTATE) return extended_state(regset.data);
  if (regset.head.note == CRYO_X86_64_SHSTK) return shadow_stack_of(regset.data);
  if (regset.head.note == CRYO_X86_64_XCOMP_PERM)
    if (const auto requested = take<std::uint64_t>(regset.data))
      return {{"asked for", component_names(*requested)}};
  return {};
}

NamedValues cpu(std::span<const std::byte> payload) {
  if (payload.size() < offsetof(cryo_x86_64_cpu, cpuid)) return {};
  const cryo_x86_64_cpu head = x86_64_cpu(payload);
  const char* vendor = reinterpret_cast<const char*>(head.vendor);
  NamedValues values = {{"vendor", std::string(vendor, ::strnlen(vendor, sizeof(head.vendor)))},
                        {"family", fmt::format("{:#x}", head.family)},
                        {"model", fmt::format("{:#x}", head.model)},
                        {"stepping", fmt::format("{}", head.stepping)},
                        {"state components", component_names(head.xcr0)},
                        {"state size", fmt::format("{} bytes", head.xstate_size)}};
  if (has_x86_64_cpuid(payload))
    values.emplace_back("features", fmt::format("{}", fmt::join(x86_64_features(head, {}), " ")));
  return values;
}

}  // namespace

const ArchDescription kDescribeX86_64 = {CRYO_ARCH_X86_64, "x86_64", place,
                                         registers,        cpu,      {040000, 0100000, 0200000, 0400000}};

}  // namespace cryo
