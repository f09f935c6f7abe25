// SPDX-License-Identifier: GPL-2.0-only
// The code that the kernel maps into every process (vdso), and the data next to it (vvar).
//
// The program has addresses in it, so it comes back where it was: as it is where this kernel's is the same,
// else as a copy of the old one, whose functions lead to those of this kernel's, which are at another place.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "context/model.h"
#include "restart/stub/address_space.h"

namespace cryo {

// The kernel's own mappings of a process.
struct KernelMapping {
  AddressRange range;
  std::uint32_t kind = CRYO_VMA_VDSO;  // or CRYO_VMA_VVAR
};
[[nodiscard]] std::vector<KernelMapping> kernel_mappings(const std::vector<OwnMapping>& own);
[[nodiscard]] std::vector<KernelMapping> kernel_mappings(const Mm& mm);
// Those of this process, which stay where they are.
[[nodiscard]] const std::vector<KernelMapping>& own_vdso();
// Whether the code is among them, which a program can unmap.
[[nodiscard]] bool has_code(const std::vector<KernelMapping>& mappings);
// The same kinds and sizes at the same distances.
[[nodiscard]] bool same_layout(const std::vector<KernelMapping>& own,
                               const std::vector<KernelMapping>& saved);
// From the first to the last.
[[nodiscard]] AddressRange span_of(const std::vector<KernelMapping>& mappings);

// The saved process has no code of the kernel, or goes on in this kernel's: the same code with its data at
// the same distance, in which nothing depends on another machine.
[[nodiscard]] bool keeps_own_vdso(const Context& context, const Mm& mm,
                                  const std::vector<KernelMapping>& own);

// Why the saved process cannot get along with this kernel's; empty when it can.
[[nodiscard]] std::string vdso_problem(const Context& context, const Mm& mm,
                                       const std::vector<KernelMapping>& own);

// The old image, with functions that go on in those of the same name in `own`, which will be at `own_at`; or
// make a system call where `own` lacks one.  Throws Error (kErrBadArch) that names the function.
[[nodiscard]] Bytes redirected_vdso(const Bytes& image, std::span<const std::byte> own, std::uint64_t own_at);

// Threads that are inside the old image go on in one that is as it was.
struct CodeMove {
  AddressRange from;
  std::uint64_t to = 0;
};

}  // namespace cryo
