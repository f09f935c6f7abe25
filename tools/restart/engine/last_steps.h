// SPDX-License-Identifier: GPL-2.0-only
// Time limit for processes of users other than cr_restart's once they have their ids. Until then only
// cr_restart's user can stall them; after that their own users can stop them, and cr_restart would wait
// forever.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "context/model.h"
#include "restart/process/tree_plan.h"
#include "restart/stub/shared_report.h"

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
