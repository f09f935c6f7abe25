// SPDX-License-Identifier: GPL-2.0-only
// What went wrong in the child, in one line that names the thing.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>

#include "context/model.h"
#include "restart/stub/shared_report.h"

namespace cryo {

// It need not be true: see FailureReport.
[[nodiscard]] std::string describe_failure(const FailureReport& failure, const Context& context);

// Of a process that was to fork another one (Place::door).
[[nodiscard]] std::string describe_door_end(pid_t to_be_forked, const siginfo_t& end);

// What a process was about when it died without a word.
[[nodiscard]] std::string describe_progress(stub::Step step);

}  // namespace cryo
