// SPDX-License-Identifier: GPL-2.0-only
// The same work for many things, by several processors.
#pragma once

#include <cstddef>
#include <functional>

namespace cryo {

// Calls work(0) to work(count - 1), in any order, by as many threads as can run at once; by the caller alone
// where it is little.  Throws the first error of any of them, and begins nothing more then.
void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace cryo
