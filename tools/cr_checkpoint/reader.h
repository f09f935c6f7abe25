// SPDX-License-Identifier: GPL-2.0-only
// Who reads the pipe that a context is written to, where that is a process of the job: it reads nothing while
// it is stopped, and is in the context, with the file that it writes.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "cr_checkpoint/options.h"

namespace cryo {

struct PipeReader {
  pid_t pid;
  std::string command;
};

// Nothing: `out` is no pipe, or has a reader elsewhere, or none that can be seen.
[[nodiscard]] std::optional<PipeReader> reader_in_scope(int out, const Options& options);

}  // namespace cryo
