// SPDX-License-Identifier: GPL-2.0-only
// The control group of a process (unified hierarchy).
#pragma once

#include <string>
#include <vector>

namespace cryo {

// Why the caller cannot join the group; empty when it can, or is in it.
[[nodiscard]] std::string cgroup_obstacle(const std::string& path);

// Directories of the one that the caller is in, and of those above it, the innermost first.
[[nodiscard]] std::vector<std::string> own_cgroups();

// Where that is not possible, it stays where it is: the check has said so.
void join_cgroup(const std::string& path);

}  // namespace cryo
