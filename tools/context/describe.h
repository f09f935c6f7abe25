// SPDX-License-Identifier: GPL-2.0-only
// What the architecture-specific parts of a context mean, for people.
//
// Descriptions are chosen at run time by the architecture in the file header, and those of all
// architectures are always built: a context can be looked at on any machine.  arch/<a>/user/describe.cc
// defines one ArchDescription; describe.cc lists them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "context/model.h"

namespace cryo {

// A name and its value as a text, in the order in which they are shown.
using NamedValues = std::vector<std::pair<std::string, std::string>>;

// Where a thread is.
struct ThreadPlace {
  std::uint64_t ip = 0;
  std::uint64_t sp = 0;
  std::optional<std::uint64_t> syscall;  // number of the system call in progress
};

// Flags of open(2) whose numbers differ (asm/fcntl.h of the kernel).
struct OpenFlags {
  std::uint32_t direct, large_file, directory, no_follow;
};

struct ArchDescription {
  std::uint32_t arch;  // CRYO_ARCH_*
  const char* name;    // as uname -m says

  // From the set with note NT_PRSTATUS; nothing when it is too short.
  std::optional<ThreadPlace> (*place)(std::span<const std::byte> prstatus, const std::vector<Regset>& sets);
  // The registers of a set, or nothing when the set is one that is not taken apart.
  NamedValues (*registers)(const Regset& regset);
  // The payload of CRYO_SEC_CPU.
  NamedValues (*cpu)(std::span<const std::byte> payload);
  OpenFlags open_flags;
};

// nullptr: no description; a name may be known nevertheless.
[[nodiscard]] const ArchDescription* arch_description(std::uint32_t arch);
[[nodiscard]] std::string arch_name(std::uint32_t arch);

// "NT_PRSTATUS", or "note 0x123".
[[nodiscard]] std::string regset_name(std::uint32_t note);

// Of a thread of this architecture, by its NT_PRSTATUS set.
[[nodiscard]] std::optional<ThreadPlace> thread_place(std::uint32_t arch, const Thread& thread);

// Flags of open(2) of a context, as this machine has them; without O_LARGEFILE, which every open(2) of a
// 64-bit process sets.
[[nodiscard]] std::uint32_t open_flags_here(std::uint32_t arch, std::uint32_t flags);

extern const ArchDescription kDescribeX86_64;
extern const ArchDescription kDescribeAarch64;
extern const ArchDescription kDescribePpc64le;

}  // namespace cryo
