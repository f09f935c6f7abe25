// SPDX-License-Identifier: GPL-2.0-only
#include "restart/common/child_end.h"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <optional>

#include "base/error.h"

namespace cryo {

int wait_for_end(pid_t child) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kApart(5);  // stops that belong together
  std::optional<Clock::time_point> first_stop, last_stop;
  bool given_up = false;
  for (int status = 0;;) {
    if (::waitpid(child, &status, __WALL | WUNTRACED) < 0) {
      if (errno != EINTR) fail_errno("cannot wait for a process");
    } else if (!WIFSTOPPED(status)) {
      if (given_up)
        fail(ETIMEDOUT, "a helper process of the restart has been stopped again and again (SIGSTOP)");
      return status;
    } else {
      const auto now = Clock::now();
      if (!last_stop || now - *last_stop > kApart) first_stop = now;
      last_stop = now;
      given_up = now - *first_stop > kPatience;
      ::kill(child, given_up ? SIGKILL : SIGCONT);
    }
  }
}

void take_away(pid_t child) {
  try {
    (void)wait_for_end(child);
  } catch (const Error&) {  // it has ended all the same
  }
}

std::string how_it_ended(int status) {
  return WIFSIGNALED(status) ? fmt::format("was killed by signal {}", WTERMSIG(status))
                             : fmt::format("exited with status {}", WEXITSTATUS(status));
}

}  // namespace cryo
