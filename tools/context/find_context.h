// SPDX-License-Identifier: GPL-2.0-only
// Where a context is, by a name that the caller, or another context, has given.
//
// Whoever may change a directory on the way decides what a name is by now: a link to a watchdog or a tape,
// which open(2) alone starts or rewinds, or to a server of his own. So it is looked at first, and what has
// been looked at is opened.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/unique_fd.h"

namespace cryo {

struct FoundContext {
  UniqueFd place;  // O_PATH; none: see below
  int error = 0;
  std::string why;  // for behind a name and a colon
};

// A privileged caller follows no symbolic links but root's and his own.
[[nodiscard]] FoundContext find_context(const std::string& path);

// Why what was found must not be opened; empty: it can be.
[[nodiscard]] std::string why_never_opened(const UniqueFd& place);

// For reading; the writer of a FIFO is not waited for. None, with errno.
[[nodiscard]] UniqueFd open_found(const UniqueFd& place, const std::string& path);

// The same for what can only be a regular file: none, with `error` ESTALE, if it is something else.
[[nodiscard]] FoundContext open_regular_context(const std::string& path);

}  // namespace cryo
