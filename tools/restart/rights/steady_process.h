// SPDX-License-Identifier: GPL-2.0-only
// What a change of ids does to the calling process besides, undone.
#pragma once

namespace cryo {

// Of the caller: neither in effect nor permitted.
[[nodiscard]] bool is_capable_of_nothing();

// A change of ids makes the calling process undumpable, and takes from it the signal that
// comes with the death of its parent: this gives both back.
class SteadyProcess {
 public:
  SteadyProcess();
  // After each change.  Where the parent has died meanwhile, the process ends here.
  void steady() const;
  // The same, while nobody is to look at it: what is in /proc is its effective user's.
  void steady_unseen() const;
  // For good, where the caller has had more rights than who may look at it has.
  void unseen() const;

 private:
  int dumpable_ = 0, death_signal_ = 0, parent_ = 0;
};

}  // namespace cryo
