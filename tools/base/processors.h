// SPDX-License-Identifier: GPL-2.0-only
// How many threads can run at once.
#pragma once

#include <cstddef>

namespace cryo {

// The processors that this process may use (a job has often a part of the machine); 1 at least.
[[nodiscard]] std::size_t processors();

}  // namespace cryo
