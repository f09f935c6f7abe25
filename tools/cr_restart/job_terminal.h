// SPDX-License-Identifier: GPL-2.0-only
// The terminal while the job is in its foreground: set as the job has left it, and as it was before once the
// job does not run there.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include "base/unique_fd.h"
#include "context/model.h"

namespace cryo {

class JobTerminal {
 public:
  JobTerminal() = default;
  ~JobTerminal() { give_back(); }
  JobTerminal(const JobTerminal&) = delete;
  JobTerminal& operator=(const JobTerminal&) = delete;

  // Of the process that the context says its terminal's modes of; nullptr: of none, or the job was in the
  // background.
  [[nodiscard]] static const Process* owner(const Context& context);
  // Before the job runs; `pid` is what owner() has become.  Does nothing unless it has the terminal that this
  // process has in the foreground.
  void put(const cryo_terminal& saved, pid_t pid);
  // Once it runs: it has not seen this terminal, nor its size.  All signals have to be blocked.
  void announce() const;
  void give_back();

  // For a signal handler that is about to stop this process with the job, and after that.
  void stopping(pid_t child);
  void stopped();  // the job has been, this process is about to be
  void continued();

 private:
  UniqueFd fd_;        // of the terminal; none: it is left alone
  termios before_{};   // to be given back
  termios job_{};      // the job's, when it was stopped
  bool held_ = false;  // it is the job's now
};

}  // namespace cryo
