// SPDX-License-Identifier: GPL-2.0-only
// Who can have written a context, for a privileged caller.
#pragma once

#include <string>

#include "context/source.h"

namespace cryo {

// Why somebody who is neither root nor the caller can have; empty: nobody can.  A pipe or socket belongs to
// whoever made it.
[[nodiscard]] std::string untrusted_writer(const Source& source);

// Can the caller do what ordinary users cannot?
[[nodiscard]] bool is_privileged_caller();

}  // namespace cryo
