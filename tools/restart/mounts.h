// SPDX-License-Identifier: GPL-2.0-only
// What is mounted in a mount namespace that cr_restart is not in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "context/model.h"

namespace cryo {

// In a copy of cr_restart's mount namespace that the caller has just got: what the job had.  Proc file
// systems of other pid namespaces are left to their first processes.  Throws Error.
void build_mounts(const MountTree& tree);
// By the first process of `pid_ns`, in the mount namespace: those.  Throws Error.
void build_late_mounts(const MountTree& tree, std::uint32_t pid_ns);
[[nodiscard]] bool has_late_mounts(const MountTree& tree, std::uint32_t pid_ns);

// Where cr_restart finds what a file's path leads to; nothing: nowhere before the namespace is there.
[[nodiscard]] std::optional<std::string> outer_path(const Context& context, const File& file);
// Is it on a mount that only the processes of the job can make?
[[nodiscard]] bool lies_on_late_mount(const Context& context, const File& file);

}  // namespace cryo
