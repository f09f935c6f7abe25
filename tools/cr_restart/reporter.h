// SPDX-License-Identifier: GPL-2.0-only
// The way back to a program that has asked for a restart by cr_request_restart(3).
#pragma once

#include <sys/types.h>

#include <string>

#include "base/unique_fd.h"
#include "context/model.h"

namespace cryo {

class Reporter {
 public:
  // Takes the descriptor over, from the number that the library has given.  Throws Error.
  explicit Reporter(int fd);

  // A line for cr_log_restart().
  void say(const std::string& line) { text_ += line + '\n'; }
  // The context has been read.
  void read_done();
  // It is over; this process has to end then, so that the job gets its new parent.
  void result(int error, pid_t pid);

 private:
  UniqueFd fd_;
  std::string text_;
};

// A job whose parent is going to end at once: throws Error when one of its processes asked for a signal then.
void check_parting(const Context& context);

}  // namespace cryo
