// SPDX-License-Identifier: GPL-2.0-only
// The control group of a process (unified hierarchy).
#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "context/model.h"

namespace cryo {

// Where the hierarchy is mounted; empty: nowhere.
[[nodiscard]] std::string cgroup_mount();

// Groups outside of the one that cr_restart was started in may be entered by a privileged caller, too, with
// the rights of the process that was in it. Before there are processes: they inherit that.
void reach_outer_cgroups();

// Why the caller cannot join the group; empty when it can, or is in it.
[[nodiscard]] std::string cgroup_obstacle(const std::string& path);
// The same for that of a process. `made`: it is not there yet, but will be.
[[nodiscard]] std::string cgroup_obstacle(const Context& context, std::size_t process, bool made);
// The same for a thread of it, which is in the group `path`.
[[nodiscard]] std::string cgroup_obstacle_of_threads(const Context& context, std::size_t process,
                                                     const std::string& path, bool made);

// Directories of the one that the caller is in, and of those above it, the innermost first.
[[nodiscard]] std::vector<std::string> own_cgroups();

// Where that is not possible, it stays where it is: the check has said so.
void join_cgroup(const std::string& path);
// The same of a process of the job, unless it has namespaces in which the hierarchy is not where it is here,
// or its rights are others: such ones ControlGroups::settle() moves from outside.
void join_cgroup(const Context& context, std::size_t process);

// A file of the group, to be written to with the rights by which that process would join it; without it,
// errno tells why.
[[nodiscard]] UniqueFd open_cgroup_file(const Context& context, std::size_t process, const std::string& path,
                                        const char* name);

}  // namespace cryo
