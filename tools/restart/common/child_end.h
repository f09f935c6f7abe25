// SPDX-License-Identifier: GPL-2.0-only
// The end of a process that the restart has made to do something, and that ends by itself.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace cryo {

// With processes that others may stop: those others decide no longer than that how long a restart takes.
inline constexpr std::chrono::milliseconds kPatience{60000};  // as the module's for a commit

// Waits for the end of a child, of which nobody may be told but by this. The user whose ids it has, or has
// had for a moment, may stop it: it is continued each time, and killed when that goes on.  Returns its wait
// status.  Throws Error (ETIMEDOUT: it has been killed for that).
int wait_for_end(pid_t child);

// The same, whatever has become of it: it may have been waited for.
void take_away(pid_t child);

// "was killed by signal 9"
[[nodiscard]] std::string how_it_ended(int status);

}  // namespace cryo
