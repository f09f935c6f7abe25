// SPDX-License-Identifier: GPL-2.0-only
// What holds between the parts of an address space, when all sections have been read: one function for each
// resource, beside its parser.
#pragma once

#include "context/staging.h"

namespace cryo {

// All throw Error (EBADMSG).
void check_excluded(const Staging& staging, const Mm& mm);
void check_guards(const Staging& staging, const Mm& mm);
void check_aio(const Staging& staging, const Mm& mm);
void check_vma_names(const Staging& staging, const Mm& mm);
void check_mempolicies(const Staging& staging, const Mm& mm);

inline constexpr void (*kMmChecks[])(const Staging& staging, const Mm& mm) = {
    check_excluded, check_guards, check_aio, check_vma_names, check_mempolicies};

}  // namespace cryo
