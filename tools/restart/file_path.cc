// SPDX-License-Identifier: GPL-2.0-only
// Files that are opened again by their path: regular files, directories, named pipes, devices.
#include <fcntl.h>
#include <sys/stat.h>

#include "base/error.h"
#include "restart/files.h"

namespace cryo {

UniqueFd open_by_path(const FileRestoreInput& input, const File& file, const FileUse& use) {
  const std::string path = input.options.relocations.apply(file.path);
  const int flags = open_flags(file, use);
  const auto root = input.roots.find(file.head.mnt);
  UniqueFd fd(root == input.roots.end()
                  ? ::open(path.c_str(), flags | O_CLOEXEC)
                  : ::openat(root->second.get(), path == "/" ? "." : path.c_str() + 1, flags | O_CLOEXEC));
  if (!fd) fail_errno("cannot open {}", path);
  // The check looked at the name; this looks at what was opened.
  struct stat now;
  if (::fstat(fd.get(), &now) != 0) fail_errno("cannot stat {}", path);
  if ((now.st_mode & S_IFMT) != (input.context.inode(file.head.inode).head.mode & S_IFMT))
    fail(ESTALE, "{} is no longer a file of the same type", path);
  return fd;
}

}  // namespace cryo
