// SPDX-License-Identifier: GPL-2.0-only
// How long processes of other users than cr_restart's take for what they do when they have their ids.
//
// Until then nobody but cr_restart's own user can hold them up, and reading their memory may take any time.
// After that their users can stop them, and cr_restart would wait for ever.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "context/model.h"
#include "restart/engine/shared_report.h"
#include "restart/engine/tree_plan.h"

namespace cryo {

class LastSteps {
 public:
  static constexpr std::chrono::milliseconds kLimit{60000};  // as the module's for a commit

  LastSteps(const Context& context, const TreePlan& plan);
  // Looks at all that had not got their ids yet.  True: the last one got them longer ago than that.
  [[nodiscard]] bool take_too_long(std::span<const Place> places);

 private:
  std::vector<std::size_t> nodes_;  // of those that have not
  bool limited_;  // none is of cr_restart's own user: those may still read when all others wait for them
  std::optional<std::chrono::steady_clock::time_point> since_;
};

}  // namespace cryo
