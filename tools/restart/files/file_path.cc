// SPDX-License-Identifier: GPL-2.0-only
// Files that are opened again by their path: regular files, directories, named pipes, devices.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/error.h"

#include "restart/files/files.h"
#include "restart/ns/namespaces.h"
#include "restart/rights/identity.h"
#include "restart/rights/own_proc.h"

namespace cryo {
namespace {

// The check has found the right one there; by now it may be another.
void check_still_the_same(const FileRestoreInput& input, const File& file, int flags, int fd) {
  const Inode& inode = input.context.inode(file.head.inode);
  if (!S_ISREG(inode.head.mode) || (flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_RDONLY) return;
  if (input.options.changed_files.value_or(ChangedFiles::kRefuse) != ChangedFiles::kRefuse ||
      !is_other_file(input.options.relocations, file, inode, fd))
    return;
  fail(ESTALE, "{}: its name now refers to a different file ({})", file.path,
       difference_of(inode.head, fd));
}

}  // namespace

UniqueFd open_by_path(const FileRestoreInput& input, const File& file, const FileUse& use) {
  const std::string path =
      own_proc_path(input.context, input.options, input.options.relocations.apply(file.path));
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
  again.created = &input.created;
  UniqueFd fd = names::open_again(again);
  check_still_the_same(input, file, again.flags, fd.get());
  return fd;
}

UniqueFd open_proc_directory(const FileRestoreInput& input, const File& file, const std::string& directory) {
  const std::string path = own_proc_path(input.context, input.options, directory);
  const auto root = input.roots.find(file.head.mnt);
  const std::string below = path.substr(1);
  Again again{root == input.roots.end() ? path : below, O_RDONLY | O_DIRECTORY, 0, 0, 0, {}};
  if (root != input.roots.end()) again.directory = root->second.get();
  UniqueFd fd = names::open_again(again);
  struct statfs system {};
  if (::fstatfs(fd.get(), &system) != 0 || system.f_type != PROC_SUPER_MAGIC)
    fail(ESTALE, "{} is no directory of /proc any more", path);
  return fd;
}

}  // namespace cryo
