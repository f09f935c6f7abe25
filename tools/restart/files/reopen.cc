// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files/reopen.h"

#include <fcntl.h>

#include "base/error.h"

namespace cryo {

// Without O_NOFOLLOW, which is about the path by which a file was opened once: this one is a link.
UniqueFd reopen(int fd, int flags, const char* what) {
  UniqueFd again(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), (flags & ~O_NOFOLLOW) | O_CLOEXEC));
  if (!again) fail_errno("cannot open {} a second time", what);
  return again;
}

}  // namespace cryo
