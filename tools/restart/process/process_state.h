// SPDX-License-Identifier: GPL-2.0-only
// State of the process as a whole that ordinary system calls restore, in the child.
#pragma once

#include <string>

#include "context/model.h"

namespace cryo {

// Room to work in: soft limits up, hard limits at least what the process had.  The stub sets the saved
// ones at the end.
void raise_limits(const Process& process);

// Their hard limits are the kernel's own, by the memory of the machine: who may not raise them gets this
// machine's.
[[nodiscard]] bool is_of_machine(std::uint32_t resource);
// After raise_limits(): what the process gets.
[[nodiscard]] cryo_rlimit limit_here(const Process& process, std::uint32_t resource);

// oom_score_adj, subreaper, no_new_privs, personality without what changes mmap(2).
void restore_attributes(const Process& process);
void restore_umask(const Process& process);

// Name of an RLIMIT_*: "open files (RLIMIT_NOFILE)".
[[nodiscard]] std::string limit_name(std::uint32_t resource);
// As prlimit(1) has it: "nofile".
[[nodiscard]] std::string limit_option(std::uint32_t resource);

}  // namespace cryo
