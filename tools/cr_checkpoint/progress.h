// SPDX-License-Identifier: GPL-2.0-only
// The progress line of a long checkpoint.
#pragma once

#include <sys/types.h>

#include <chrono>

#include "cr_checkpoint/request.h"

namespace cryo {

class Progress {
 public:
  // Draws on standard error if that is a terminal; else does nothing. `request` must outlive it.
  Progress(const Request& request, pid_t target, bool wanted);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  // Milliseconds for poll() until update() has something to do; -1: never.
  [[nodiscard]] int wait_ms() const;
  // Asks how far the request is, and draws, when it is time.
  void update();
  // Removes the line from the screen.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  void draw();

  const Request& request_;
  pid_t target_;
  bool wanted_;
  Clock::time_point next_;
  bool drawn_ = false;
};

}  // namespace cryo
