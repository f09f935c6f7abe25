// SPDX-License-Identifier: GPL-2.0-only
// The XSAVE area as the kernel gives and takes it (NT_X86_XSTATE, "standard format"), moved to a CPU that has
// other components, or has them elsewhere in the area.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "context/model.h"

namespace cryo {

inline constexpr std::size_t kXstateComponents = 19;  // up to AMX data; nobody has later ones yet

inline constexpr std::uint64_t kXstateLegacy = 3;  // x87 and SSE, which are where they always have been

// Intel SDM volume 1, 13.4: the legacy region with x87 and SSE, the header, then the extended components.
struct XstateLayout {
  std::uint64_t components = 0;  // XCR0
  std::size_t size = 0;          // of the whole area, in bytes; 0: the CPU has no XSAVE
  std::array<std::size_t, kXstateComponents> offset{};  // bytes; 0: the component is not there
};

// That of this CPU, as CPUID tells.
[[nodiscard]] XstateLayout own_xstate();

// That of an area that was saved on another CPU; the area tells which components there are, and its size
// which of the known layouts it has.  None: it has another one.
[[nodiscard]] std::optional<XstateLayout> xstate_layout(std::span<const std::byte> area);

// Components with contents other than what a new program finds. PKRU counts when it restricts
// memory without a protection key, which is all there is where there are no keys.
[[nodiscard]] std::uint64_t xstate_in_use(std::span<const std::byte> area);

// The same contents in the layout of another CPU, which has all that is in use.
[[nodiscard]] Bytes convert_xstate(std::span<const std::byte> area, const XstateLayout& to);

}  // namespace cryo
