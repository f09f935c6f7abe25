// SPDX-License-Identifier: GPL-2.0-only
// The children of cr_restart that belong to the restart.
//
// A shell that became cr_restart (exec) has left it children of its own: those are neither waited for nor
// killed.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <set>
#include <vector>

#include "restart/stub/shared_report.h"

namespace cryo {

class OwnChildren {
 public:
  // Before the first of them is forked.
  explicit OwnChildren(const SharedReport& report);

  void set_maker(pid_t maker) { maker_ = maker; }
  // A child that is none of them, and has no exit signal.
  void leave_out(pid_t guardian) { guardian_ = guardian; }
  // 0: it has been waited for.
  [[nodiscard]] pid_t living_maker() const { return ended_.contains(maker_) ? 0 : maker_; }
  // One that has ended, and is waited for with this.
  [[nodiscard]] std::optional<siginfo_t> take_ended();
  // All of them and all that they have forked, which come to cr_restart as orphans: it has to be a subreaper.
  // Returns how many are left after that time.
  [[nodiscard]] std::size_t kill_all(std::chrono::milliseconds limit);

 private:
  [[nodiscard]] bool any_left() const;
  [[nodiscard]] std::vector<pid_t> known() const;
  [[nodiscard]] std::vector<pid_t> living() const;

  const SharedReport& report_;
  bool alone_;  // there were no others when it began: every child is one of ours
  pid_t maker_ = -1;
  pid_t guardian_ = -1;
  std::set<pid_t> ended_;  // of the maker and of forks that got a wrong pid: their numbers are others' by now
};

}  // namespace cryo
