// SPDX-License-Identifier: GPL-2.0-only
// cr_restart --pid-ns: a restart in a pid namespace of its own, in which whatever ids a job had are free.
#pragma once

#include <optional>

namespace cryo {

// Makes one, with a mount namespace for its /proc, and for a caller without CAP_SYS_ADMIN in a user namespace
// that has the caller's own numbers only.  Returns nothing in a child, which goes on inside, without more
// rights than the caller has.  In the caller, to which signals come as if it were that child, returns how it
// ended, as waitpid(2) tells it.  Process 1 of the namespace stays until the last process there has ended.
// Throws Error.
[[nodiscard]] std::optional<int> enter_pid_namespace();

}  // namespace cryo
