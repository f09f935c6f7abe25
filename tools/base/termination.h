// SPDX-License-Identifier: GPL-2.0-only
// For programs that block all signals and still terminate on one of them.
#pragma once

#include <csignal>

namespace cryo {

// A blocked signal is pending even if it is to be ignored (nohup): that one does not count.
[[nodiscard]] inline bool is_pending_termination() {
  sigset_t pending;
  if (::sigpending(&pending) != 0) return false;
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    struct sigaction action {};
    if (sigismember(&pending, signal) == 1 && ::sigaction(signal, nullptr, &action) == 0 &&
        action.sa_handler != SIG_IGN)
      return true;
  }
  return false;
}

}  // namespace cryo
