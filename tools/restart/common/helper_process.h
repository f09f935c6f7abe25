// SPDX-License-Identifier: GPL-2.0-only
// Operations that need another process's context: a helper process does them and passes back a descriptor.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "base/unique_fd.h"

namespace cryo {

// Calls `make` in a process that has the caller's memory as it is now, shares its descriptors, and ends
// after that.  Returns what `make` returned; throws the Error that it threw.
[[nodiscard]] UniqueFd in_helper_process(const std::function<UniqueFd()>& make);
using FdPair = std::pair<UniqueFd, UniqueFd>;
[[nodiscard]] FdPair pair_from_elsewhere(const std::function<FdPair()>& make);

// The same of what is told; at most 1000 bytes of it.
[[nodiscard]] std::string text_from_helper(const std::function<std::string()>& ask);

// Makes a process that calls `work`, and waits for its end when the object is destroyed or asked.  The work
// starts when it is released.
class Assistant {
 public:
  // `work` returns 0 or an errno value.
  explicit Assistant(const std::function<int()>& work);
  ~Assistant();
  Assistant(const Assistant&) = delete;
  Assistant& operator=(const Assistant&) = delete;

  // Has the work done.  Returns what it returned.
  [[nodiscard]] int run();

 private:
  pid_t pid_ = -1;
  UniqueFd start_;
};

}  // namespace cryo
