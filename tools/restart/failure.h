// SPDX-License-Identifier: GPL-2.0-only
// What went wrong in the child, in one line that names the thing.
#pragma once

#include <string>

#include "context/model.h"
#include "restart/stub.h"

namespace cryo {

// Of a report with failed != 0.
[[nodiscard]] std::string describe_failure(const stub::Report& report, const Context& context);

// What a process was about when it died without a word.
[[nodiscard]] std::string describe_progress(stub::Step step);

// Name of an RLIMIT_*: "open files (RLIMIT_NOFILE)".
[[nodiscard]] std::string limit_name(std::uint32_t resource);

}  // namespace cryo
