// SPDX-License-Identifier: GPL-2.0-only
// Why a process may not be traced, and so not be checkpointed: ptrace(2), "Ptrace access mode checking".
#pragma once

#include <sys/types.h>

#include <string>

namespace cryo {

// What Yama has to do with it that a process may not be traced, and what helps, in parentheses; empty:
// nothing.
std::string yama_hint();

// What the kernel, which only says that it may not, has found wrong, as far as /proc shows it; and what
// helps.
std::string why_not_traced(pid_t pid);

}  // namespace cryo
