// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "base/unique_fd.h"

namespace cryo {

// The working directory, for names of sockets that do not begin with "/", as long as it lives.
class WorkingDirectory {
 public:
  explicit WorkingDirectory(const std::string& directory);
  ~WorkingDirectory();
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;

 private:
  UniqueFd before_;
};

}  // namespace cryo
