// SPDX-License-Identifier: LGPL-2.1-or-later
// A descriptor out of the way of programs that choose numbers: a shell's "exec 4>file" closes what has the
// number.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace cryo::libcr {

// Within the table that each process has at first: a higher one makes fork() dearer.
inline constexpr int kHighFd = 48;
inline constexpr int kFirstFreeFd = 3;

// `fd` at a high number, or, where RLIMIT_NOFILE forbids that, at a lower one.
inline int move_high(int fd) {
  for (int at = kHighFd; fd >= 0 && at > fd && at > kFirstFreeFd; at /= 2) {
    const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, at);
    if (moved < 0) continue;
    ::close(fd);
    return moved;
  }
  return fd;
}

}  // namespace cryo::libcr
