// SPDX-License-Identifier: GPL-2.0-only
// One checkpoint from beginning to end.
#pragma once

#include "cr_checkpoint/options.h"

namespace cryo {

// Given up because of a signal to cr_checkpoint; everything is as it was.
struct Interrupted {
  int signal;
};

// Blocks all signals for good, since a signal that kills us in the middle would leave a temporary file
// behind; they are looked for where one waits. To be called before there are other threads.
void block_signals();

// Throws Error or Interrupted.
void run_job(const Options& options);

}  // namespace cryo
