// SPDX-License-Identifier: GPL-2.0-only
// Limits of memory that a program shares with others: those of its control group and of all above it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cryo {

// Bytes that the calling process may still use before a limit is reached that it has with others; nothing:
// there is no such limit, or none that can be seen (control groups of version 2).
[[nodiscard]] std::optional<std::uint64_t> memory_room();
// The same of the group `path` below `mount`, where that file system is.
[[nodiscard]] std::optional<std::uint64_t> memory_room(const std::string& mount, const std::string& path);

// On memory exhaustion, make the OOM killer choose this process and not the one it works for.
void prefer_as_oom_victim();

}  // namespace cryo
