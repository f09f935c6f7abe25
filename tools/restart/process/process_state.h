// SPDX-License-Identifier: GPL-2.0-only
// State of the process as a whole that ordinary system calls restore, in the child.
#pragma once

#include <string>

#include "context/model.h"
#include "restart/common/options.h"
#include "restart/rights/created_paths.h"

namespace cryo {

// Room to work in: soft limits up, hard limits at least what the process had.  The stub sets the saved
// ones at the end.
void raise_limits(const Process& process);

// Their hard limits are the kernel's own, by the memory of the machine: who may not raise them gets this
// machine's.
[[nodiscard]] bool is_of_machine(std::uint32_t resource);
// After raise_limits(): what the process gets.
[[nodiscard]] cryo_rlimit limit_here(const Process& process, std::uint32_t resource);

// The caller's working directory becomes `cwd`; one that has been removed is in `store`. The name is that of
// who is said to have it (names.h).  `created_ns`: of the context.
struct FileStore;
struct TreeOf;
void enter_directory(const Path& cwd, const TreeOf& tree, const RestartOptions& options,
                     const FileStore& store, std::uint64_t created_ns);
void restore_cwd(const Process& process, const RestartOptions& options, const FileStore& store,
                 std::uint64_t created_ns);
// oom_score_adj, subreaper, no_new_privs, personality without what changes mmap(2).
void restore_attributes(const Process& process);
void restore_umask(const Process& process);

// Name of an RLIMIT_*: "open files (RLIMIT_NOFILE)".
[[nodiscard]] std::string limit_name(std::uint32_t resource);

}  // namespace cryo
