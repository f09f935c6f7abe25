// SPDX-License-Identifier: GPL-2.0-only
// Standing in for the restarted process towards whoever started cr_restart.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace cryo {

class JobTerminal;

// Children of this process that are waited for, and get its signals.
struct Job {
  std::vector<pid_t> processes;  // the first one leads; 0: has ended
  std::size_t status_of = 0;     // as which of them this process ends
  bool is_restart = false;       // it is a cr_restart in its place, which stops where its job has
};

// Blocks all signals; returns the mask that was in force.
sigset_t block_all_signals();

// While it lives, signals go to `job`, also those that came meanwhile: `mask` is put in force.  Then they are
// caught, and do nothing.
class Forwarding {
 public:
  Forwarding(const Job& job, const sigset_t& mask, JobTerminal& terminal);
  ~Forwarding();
  Forwarding(const Forwarding&) = delete;
  Forwarding& operator=(const Forwarding&) = delete;
};

// Waits for the end of `child`; status as waitpid(2) gives it.
[[nodiscard]] int wait_for(pid_t child);
// The same for all of the job.  When one is stopped, and has the terminal in a process group of its own, this
// process stops as well, as whoever has started it waits for that; continued, it continues the job.  None: it
// cannot be waited for.
[[nodiscard]] std::optional<int> wait_for_job(Job& job, JobTerminal& terminal);

// Ends this process as the child ended: with its exit status, or by the same signal.
[[noreturn]] void exit_as(int status);

// The terminal that this process has in the foreground at its start comes back to it at the end.
class Foreground {
 public:
  Foreground();
  ~Foreground();
  Foreground(const Foreground&) = delete;
  Foreground& operator=(const Foreground&) = delete;

 private:
  int terminal_ = -1;  // -1: none, or in the background
};

}  // namespace cryo
