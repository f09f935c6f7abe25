// SPDX-License-Identifier: GPL-2.0-only
#include "restart/process/working_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "restart/rights/names.h"

namespace cryo {

WorkingDirectory::WorkingDirectory(const std::string& directory)
    : before_(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  if (!before_) fail_errno("cannot open the working directory");
  if (names::chdir(directory) != 0)
    fail_errno("{}: cannot change to this directory to bind a socket", directory);
}

WorkingDirectory::~WorkingDirectory() {
  (void)!::fchdir(before_.get());
}

}  // namespace cryo
