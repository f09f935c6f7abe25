// SPDX-License-Identifier: GPL-2.0-only
// The auxiliary vector as the kernel shows it in /proc/PID/auxv; the program has its own copy on its stack.
#pragma once

#include <cstdint>
#include <vector>

namespace cryo {

using Auxv = std::vector<std::uint64_t>;  // pairs of type (AT_*) and value, AT_NULL last

// That of this process.
[[nodiscard]] const Auxv& own_auxv();

// As much of `saved` as this kernel, which has made `own`, has room for: later ones have more entries.  What
// this kernel does not know goes when there are more than it makes itself.
[[nodiscard]] Auxv fitting_auxv(const Auxv& saved, const Auxv& own);

}  // namespace cryo
