// SPDX-License-Identifier: GPL-2.0-only
// How a restart is wanted.
#pragma once

#include "restart/relocate.h"

namespace cryo {

enum class Tolerance { kError, kWarn };

struct RestartOptions {
  bool restore_pid = true;  // of the process and of its threads
  bool restore_pgid = false;
  bool restore_sid = false;
  int signal = 0;                               // pending before the process starts; 0: none
  Tolerance changed_files = Tolerance::kError;  // mapped files that are not what they were
  Tolerance other_cpu = Tolerance::kError;      // CPU lacks what the process may have decided to use
  Relocations relocations;
};

}  // namespace cryo
