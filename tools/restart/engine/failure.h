// SPDX-License-Identifier: GPL-2.0-only
// What went wrong in the child, in one line that names the thing.
#pragma once

#include <string>

#include "context/model.h"
#include "restart/stub/shared_report.h"

namespace cryo {

// It need not be true: see FailureReport.
[[nodiscard]] std::string describe_failure(const FailureReport& failure, const Context& context);

// What a process was about when it died without a word.
[[nodiscard]] std::string describe_progress(stub::Step step);

}  // namespace cryo
