// SPDX-License-Identifier: GPL-2.0-only
#include "context/describe.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace cryo {
namespace {

constexpr std::array kDescriptions = {&kDescribeX86_64, &kDescribeAarch64, &kDescribePpc64le};

struct Name {
  std::uint32_t value;
  const char* name;
};

constexpr Name kNotes[] = {
    {NT_PRSTATUS, "NT_PRSTATUS"},
    {NT_PRFPREG, "NT_PRFPREG"},
    {NT_PPC_VMX, "NT_PPC_VMX"},
    {NT_PPC_VSX, "NT_PPC_VSX"},
    {NT_PPC_TAR, "NT_PPC_TAR"},
    {NT_PPC_PPR, "NT_PPC_PPR"},
    {NT_PPC_DSCR, "NT_PPC_DSCR"},
    {NT_PPC_EBB, "NT_PPC_EBB"},
    {NT_PPC_PMU, "NT_PPC_PMU"},
    {NT_PPC_PKEY, "NT_PPC_PKEY"},
    {0x112, "NT_PPC_HASHKEYR"},
    {NT_386_TLS, "NT_386_TLS"},
    {NT_386_IOPERM, "NT_386_IOPERM"},
    {NT_X86_XSTATE, "NT_X86_XSTATE"},
    {0x204, "NT_X86_SHSTK"},
    {0x43000001, "ARCH_REQ_XCOMP_PERM"},
    {NT_ARM_TLS, "NT_ARM_TLS"},
    {NT_ARM_HW_BREAK, "NT_ARM_HW_BREAK"},
    {NT_ARM_HW_WATCH, "NT_ARM_HW_WATCH"},
    {NT_ARM_SYSTEM_CALL, "NT_ARM_SYSTEM_CALL"},
    {NT_ARM_SVE, "NT_ARM_SVE"},
    {NT_ARM_PAC_MASK, "NT_ARM_PAC_MASK"},
    {0x407, "NT_ARM_PACA_KEYS"},
    {0x408, "NT_ARM_PACG_KEYS"},
    {0x409, "NT_ARM_TAGGED_ADDR_CTRL"},
    {0x40a, "NT_ARM_PAC_ENABLED_KEYS"},
    {0x40b, "NT_ARM_SSVE"},
    {0x40c, "NT_ARM_ZA"},
    {0x40d, "NT_ARM_ZT"},
    {0x40e, "NT_ARM_FPMR"},
    {0x40f, "NT_ARM_POE"},
    {0x410, "NT_ARM_GCS"},
};

template <std::size_t N>
const char* find(const Name (&names)[N], std::uint32_t value) {
  const auto it =
      std::find_if(std::begin(names), std::end(names), [value](const Name& n) { return n.value == value; });
  return it == std::end(names) ? nullptr : it->name;
}

}  // namespace

const ArchDescription* arch_description(std::uint32_t arch) {
  for (const ArchDescription* description : kDescriptions)
    if (description->arch == arch) return description;
  return nullptr;
}

std::string arch_name(std::uint32_t arch) {
  if (const ArchDescription* description = arch_description(arch)) return description->name;
  return fmt::format("architecture {}", arch);
}

std::string regset_name(std::uint32_t note) {
  const char* name = find(kNotes, note);
  return name != nullptr ? name : fmt::format("note {:#x}", note);
}

std::optional<ThreadPlace> thread_place(std::uint32_t arch, const Thread& thread) {
  const ArchDescription* description = arch_description(arch);
  if (description == nullptr) return std::nullopt;
  for (const Regset& regset : thread.regsets)
    if (regset.head.note == NT_PRSTATUS) return description->place(regset.data, thread.regsets);
  return std::nullopt;
}

std::uint32_t open_flags_here(std::uint32_t arch, std::uint32_t flags) {
  const ArchDescription* description = arch_description(arch);
  if (description == nullptr) return flags;
  const OpenFlags& theirs = description->open_flags;
  std::uint32_t here = flags & ~(theirs.direct | theirs.large_file | theirs.directory | theirs.no_follow);
  if (flags & theirs.direct) here |= O_DIRECT;
  if (flags & theirs.directory) here |= O_DIRECTORY;
  if (flags & theirs.no_follow) here |= O_NOFOLLOW;
  return here;
}

}  // namespace cryo
