// SPDX-License-Identifier: GPL-2.0-only
// Time limits for processes of users other than cr_restart's: these can stop them once they have their ids,
// or a thread of them has had some for a moment, and cr_restart would wait forever.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "context/model.h"
#include "restart/common/child_end.h"
#include "restart/process/tree_plan.h"
#include "restart/stub/shared_report.h"

namespace cryo {

// Of processes that have been seen stopped, and continued.
class Stops {
 public:
  // All have been looked at; `any`: one was stopped.  True: that was so for longer than kPatience, all in
  // all.
  [[nodiscard]] bool take_too_long(bool any);

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::duration stopped_{};
};

// From when all that is left to do is that of other users' processes, which have their ids.
class LastSteps {
 public:
  LastSteps(const Context& context, const TreePlan& plan);
  // Looks at all that had not got their ids yet.  True: the last one got them, and the last one of
  // cr_restart's own user did what it can do without them, longer ago than kPatience.
  [[nodiscard]] bool take_too_long(const SharedReport& report);

 private:
  [[nodiscard]] bool own_ones_wait(const SharedReport& report) const;

  std::vector<std::size_t> without_ids_;  // nodes, of other users
  std::vector<std::size_t> own_;          // nodes of cr_restart's: they may still read when all others wait
  bool limited_;                          // there are others
  std::optional<std::chrono::steady_clock::time_point> since_;
};

}  // namespace cryo
