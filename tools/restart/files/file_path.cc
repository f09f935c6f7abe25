// SPDX-License-Identifier: GPL-2.0-only
// Files that are opened again by their path: regular files, directories, named pipes, devices.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/error.h"
#include "restart/files/contents_files.h"
#include "restart/files/files.h"
#include "restart/files/path_check.h"
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
  fail(ESTALE, "{}: its name now refers to a different file ({})", file.path, difference_of(inode.head, fd));
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

namespace {

bool is_context_output(const FileRestoreInput& input, const File& file, const FileUse& use) {
  const OtherUse* other = other_use(input.other_uses, file);
  return other != nullptr && other->context && is_output(file, use);
}

// The context itself is not written to: the job has a copy.
UniqueFd open_path(FileMaking& making, const File& file, const FileUse& use) {
  if (is_context_output(making.input, file, use))
    return making.state<ContentsFiles>().open(file, use, make_copy);
  return open_by_path(making.input, file, use);
}

void check_device(FileCheck& at, const File& file, const FileUse& use) {
  if (left_closed(file, at.options)) return;
  const auto chosen = at.options.device_policy(file.path);
  if (chosen == DevicePolicy::kFail)
    at.problem(EOPNOTSUPP, "is a device, which --device={}=fail does not allow", file.path);
  else
    check_path(at, file, use);
}

UniqueFd open_device(FileMaking& making, const File& file, const FileUse& use) {
  return open_by_path(making.input, file, use);
}

}  // namespace

const FileKind kPathKind = {.kind = CRYO_FILE_PATH,
                            .check = check_path,
                            .open = open_path,
                            .has_position = true,
                            .redirectable = Redirectable::kIfData};
const FileKind kDeviceKind = {
    .kind = CRYO_FILE_DEVICE, .check = check_device, .open = open_device, .redirectable = Redirectable::kYes};
// That is opened only where cr_restart --device says so.
const FileKind kClosedKind = {
    .kind = CRYO_FILE_CLOSED, .check = check_device, .open = open_device, .redirectable = Redirectable::kYes};

}  // namespace cryo
