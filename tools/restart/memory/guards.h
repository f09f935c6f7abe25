// SPDX-License-Identifier: GPL-2.0-only
// Guard pages (MADV_GUARD_INSTALL): in page tables only, unlike areas without access.
#pragma once

#include "context/model.h"

namespace cryo {

// Whether this kernel has them (v6.13) as in `mm`: in private anonymous memory, or also in other memory
// (v6.15).
[[nodiscard]] bool can_have_guards(const Mm& mm);

[[nodiscard]] bool has_guards(const Mm& mm, const cryo_vma& vma);

}  // namespace cryo
