// SPDX-License-Identifier: GPL-2.0-only
#include "restart/directory_of.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "restart/names.h"

namespace cryo {

DirectoryOf::DirectoryOf(const std::string& relative, const std::string& absolute) {
  if (absolute.size() <= relative.size()) return;
  before_ = UniqueFd(::open(".", O_PATH | O_CLOEXEC));
  std::string plain = relative;
  while (plain.starts_with("./")) plain.erase(0, 2);
  const std::size_t end = absolute.rfind('/' + plain);
  if (end == std::string::npos) return;
  const std::string directory = end == 0 ? "/" : absolute.substr(0, end);
  if (names::chdir(directory) != 0) fail_errno("{}: cannot go there for a socket's name", directory);
}

DirectoryOf::~DirectoryOf() {
  if (before_) (void)!::fchdir(before_.get());
}

}  // namespace cryo
