// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "base/unique_fd.h"

namespace cryo {

// While it lives, the relative name of a socket means what it meant when the socket was bound: the working
// directory is the one in which `relative` leads to `absolute`.  Without an absolute path nothing changes.
class DirectoryOf {
 public:
  DirectoryOf(const std::string& relative, const std::string& absolute);
  ~DirectoryOf();
  DirectoryOf(const DirectoryOf&) = delete;
  DirectoryOf& operator=(const DirectoryOf&) = delete;

 private:
  UniqueFd before_;
};

}  // namespace cryo
