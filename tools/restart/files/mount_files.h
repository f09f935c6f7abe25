// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

#include "context/model.h"

namespace cryo {

// Fills the new tmpfs `mount` of the mount namespace `ns`, which is at `point`, with what the context has for
// it.  `context_fds`: by PageChunk::ancestor.  Throws Error.
void fill_mount(const Context& context, const std::vector<int>& context_fds, std::uint32_t ns,
                std::uint32_t mount, const std::string& point);

}  // namespace cryo
