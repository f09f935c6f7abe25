// SPDX-License-Identifier: GPL-2.0-only
// Files that are opened again by their path: regular files, directories, named pipes, devices.
#include <fcntl.h>

#include "restart/files.h"
#include "restart/namespaces.h"

namespace cryo {

UniqueFd open_by_path(const FileRestoreInput& input, const File& file, const FileUse& use) {
  const std::string path = input.options.relocations.apply(file.path);
  const auto root = input.roots.find(file.head.mnt);
  const std::string below = path == "/" ? "." : path.substr(1);
  const cryo_inode& inode = input.context.inode(file.head.inode).head;
  Again again{root == input.roots.end() ? path : below,
              open_flags(file, use),
              inode.dev,
              inode.ino,
              inode.mode,
              inode.uid,
              input.context.header.created_ns};
  if (root != input.roots.end()) again.directory = root->second.get();
  return names::open_again(again);
}

}  // namespace cryo
