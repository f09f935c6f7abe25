// SPDX-License-Identifier: GPL-2.0-only
// Standard output and error that a program was started without.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cryo {

// A file that is opened would get their numbers, and messages with them.  Who is executed finds them closed.
// Errors: the system's, by exception.
inline void occupy_output_descriptors() {
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!null) fail_errno("/dev/null");
    if (null.get() == fd)
      (void)null.release();
    else if (::dup3(null.get(), fd, O_CLOEXEC) < 0)
      fail_errno("cannot open /dev/null as descriptor {}", fd);
  }
}

}  // namespace cryo
