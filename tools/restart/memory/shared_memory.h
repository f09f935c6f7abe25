// SPDX-License-Identifier: GPL-2.0-only
// Shared anonymous memory has no name to map it by a second time.  So the whole of each object is mapped
// once, before the first process of the job is forked, at an address that is free in all of them; they
// inherit it, and each of their areas becomes a duplicate of a part of it.
#pragma once

#include <map>

#include "context/model.h"
#include "restart/stub/address_space.h"

namespace cryo {

// Maps and fills all of it, reading from the context.  Throws Error.
[[nodiscard]] SharedMemory make_shared_memory(const Context& context, const std::vector<int>& context_fds);

}  // namespace cryo
