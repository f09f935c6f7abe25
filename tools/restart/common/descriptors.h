// SPDX-License-Identifier: GPL-2.0-only
// Descriptor numbers in the process being restarted: which ones it will have, and where what is needed
// until then can stay.
#pragma once

#include <set>
#include <vector>

#include "base/unique_fd.h"
#include "context/model.h"

namespace cryo {

class Descriptors {
 public:
  // Of all processes, or of one.
  explicit Descriptors(const Context& context);
  explicit Descriptors(const Process& process) { want(process); }

  // Moves `fd` to a number that the process will not have.  Throws Error (EMFILE).
  [[nodiscard]] UniqueFd park(UniqueFd fd) const;
  // The same for a duplicate; `fd` stays.
  [[nodiscard]] UniqueFd park_copy(int fd) const;

  [[nodiscard]] bool wants(int fd) const { return wanted_.contains(fd); }

  // Closes all but `keep` (and what the process will have, when `keep_wanted`).
  void close_others(const std::set<int>& keep, bool keep_wanted) const;

 private:
  void want(const Process& process);

  std::set<int> wanted_;
  int above_ = 3;  // no number from here on is wanted
};

}  // namespace cryo
