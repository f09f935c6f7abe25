// SPDX-License-Identifier: GPL-2.0-only
// Names of anonymous memory (PR_SET_VMA_ANON_NAME).
#pragma once

#include "context/model.h"
#include "restart/stub/calls.h"
#include "restart/stub/stub_area.h"

namespace cryo {

// Once the areas are there; those that this kernel cannot name are left without.
void plan_vma_names(const Context& context, const Mm& mm, CallList& calls, StubArea& area);

// Whether some names of @mm are lost on this kernel. Private memory can be named since 5.17, shared memory
// since 6.2, both only with CONFIG_ANON_VMA_NAME.
[[nodiscard]] bool loses_vma_names(const Mm& mm);

}  // namespace cryo
