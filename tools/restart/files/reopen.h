// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "base/unique_fd.h"

namespace cryo {

// Another open file of what is open at `fd`; `what` is for the message. Throws Error.
[[nodiscard]] UniqueFd reopen(int fd, int flags, const char* what);

}  // namespace cryo
