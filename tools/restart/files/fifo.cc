// SPDX-License-Identifier: GPL-2.0-only
// Named FIFOs, whose other end may belong to another process.  No open may wait for that.
#include "restart/files/fifo.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/place.h"
#include "base/random_part.h"
#include "restart/files/path_check.h"
#include "restart/rights/identity.h"
#include "restart/rights/missing_directories.h"

namespace cryo {
namespace {

constexpr int kFifoNameTries = 100;

bool quiet(const File& file) {
  return file.head.kind == CRYO_FILE_FIFO && file.head.pos == CRYO_FIFO_QUIET;
}

// For both directions: never blocks. `readable`: for reading only will do.
UniqueFd open_base(const std::string& path, bool readable, int directory = AT_FDCWD) {
  UniqueFd fd = names::open_fifo(path, O_RDWR | O_NONBLOCK, directory);
  if (!fd && errno == EACCES && readable) fd = names::open_fifo(path, O_RDONLY | O_NONBLOCK, directory);
  if (!fd) return fd;
  struct stat now;
  if (::fstat(fd.get(), &now) != 0) fail_errno("cannot stat {}", path);
  if (!S_ISFIFO(now.st_mode)) fail(ESTALE, "{} is no longer a FIFO", path);
  return fd;
}

bool holds_something(const Inode& inode) {
  return inode.pipe && !inode.pipe->packets.empty();
}

bool has_writer(const Context& context, const Inode& inode) {
  return std::any_of(context.files.begin(), context.files.end(), [&inode](const auto& entry) {
    const cryo_file& head = entry.second.head;
    return head.inode == inode.id && (head.flags & O_ACCMODE) != O_RDONLY && (head.flags & O_PATH) == 0;
  });
}

// One that had no name any more: at its old name, if it can be had for a moment, or else wherever one can be
// made.
std::string make_unnamed_fifo(const File& file, const std::string& path, MissingDirectories& missing) {
  std::vector<std::string> places;
  if (file.head.mnt == 0) {  // else it is the name of something else here
    (void)missing.make_above(path);
    if (names::mkfifo(path, 0600) == 0) return path;
    places.push_back(path);
  }
  places.emplace_back("/tmp/fifo");
  for (const std::string& place : places)
    for (int i = 0; i < kFifoNameTries; ++i) {
      std::string name = place + ".cryo." + random_part();
      if (names::mkfifo(name, 0600) == 0) return name;
      if (errno != EEXIST) break;
    }
  fail_errno("cannot recreate the removed FIFO {}", path);
}

}  // namespace

bool is_foreign_fifo(const RestartOptions& options, const File& file, const Inode& inode,
                     const std::string& path) {
  if (options.changed_files.value_or(ChangedFiles::kRefuse) != ChangedFiles::kRefuse) return false;
  const UniqueFd place = names::open(path, O_PATH);
  struct stat now;
  if (!place || ::fstat(place.get(), &now) != 0 ||
      !is_other_file(options.relocations, file, inode, place.get()))
    return false;
  return now.st_mode != inode.head.mode || now.st_uid != inode.head.uid || now.st_gid != inode.head.gid;
}

bool may_fill_fifo(const Context& context, const Inode& inode, const std::string& path) {
  return !holds_something(inode) || has_writer(context, inode) || names::access(path, W_OK) == 0;
}

UniqueFd Fifos::open_left_behind(const Inode& inode, const std::string& path) {
  if (!may_fill_fifo(input_.context, inode, path))
    fail_errno("cannot restore the contents of FIFO {}, as none of its processes may write to it", path);
  UniqueFd fd = open_base(path, !holds_something(inode));
  if (fd || (errno != EACCES && errno != EPERM)) {
    if (!fd) fail_errno("cannot open the FIFO {}", path);
    return fd;
  }
  const cryo_inode& head = inode.head;
  fd = names::open_again(
      {path, O_RDWR | O_NONBLOCK, head.dev, head.ino, head.mode, head.uid, input_.context.header.created_ns});
  own_.insert(inode.id);
  return fd;
}

// In a mount namespace of the job's own: what is mounted there has it. Nobody's rights grow where something
// is to be put into it.
UniqueFd Fifos::open_inside(const File& file, const Inode& inode, const std::string& path) {
  const std::string below = path.substr(1);
  const int root = input_.roots.at(file.head.mnt).get();
  UniqueFd fd = open_base(below, !holds_something(inode), root);
  if (fd) return fd;
  if (holds_something(inode) && !has_writer(input_.context, inode))
    fail_errno("cannot open the FIFO {}", path);
  const cryo_inode& head = inode.head;
  return names::open_again({below, O_RDWR | O_NONBLOCK, head.dev, head.ino, head.mode, head.uid,
                            input_.context.header.created_ns, root});
}

UniqueFd Fifos::make(const File& file, const Inode& inode, const std::string& path) {
  const bool deleted = inode.head.flags & CRYO_INODE_DELETED;
  if (file.head.mnt != 0 && !deleted) return open_inside(file, inode, path);
  const DeathDeferred deferred(input_.created);
  MissingDirectories missing(input_.created);
  std::string name = path;
  if (deleted) {
    name = make_unnamed_fifo(file, path, missing);
  } else if (names::mkfifo(name, 0600) != 0) {
    const int error = errno;
    // It may be there, also in a directory where nothing can be made.
    if (error == EEXIST || names::access(name, F_OK) == 0) return open_left_behind(inode, name);
    fail(error, "cannot create the FIFO {}: {}", name, way_error(error));
  }
  input_.created.add(name);
  UniqueFd fd = open_base(name, false);
  if (!fd) fail_errno("cannot open the FIFO {}", name);
  if (deleted && !input_.created.discard(name))
    fail(ESTALE, "cannot unlink {}, which has just been made", name);
  struct stat now;
  if (::fstat(fd.get(), &now) != 0) fail_errno("cannot stat {}", name);
  // Somebody may have exchanged it: then it is for him to say who opens it.
  if (now.st_uid == names::owner()) own_.insert(inode.id);
  (void)names::fchown(fd.get(), inode.head.uid, inode.head.gid);
  if (names::fchmod(fd.get(), inode.head.mode & 07777) != 0) fail_errno("cannot set the mode of {}", name);
  return fd;
}

// With everything in it, open until all files are.
int Fifos::base(const File& file) {
  const Inode& inode = input_.context.inode(file.head.inode);
  const auto found = bases_.find(inode.id);
  if (found != bases_.end()) return found->second.get();
  const std::string path = input_.options.relocations.apply(file.path);
  if (file.head.mnt == 0 && (inode.head.flags & CRYO_INODE_DELETED) == 0 &&
      is_foreign_fifo(input_.options, file, inode, path))
    fail(ESTALE, "{}: its name now refers to a different FIFO", path);
  UniqueFd fd = input_.descriptors.park(make(file, inode, path));
  paths_.emplace(inode.id, path);
  if (inode.pipe) fill_pipe(*inode.pipe, fd.get(), fd.get());
  bool keep_quiet = false;
  for (const auto& [id, other] : input_.context.files)
    keep_quiet |= other.head.inode == inode.id && quiet(other);
  if (keep_quiet) {
    // No writer may come after this: poll() would tell that it has gone.
    UniqueFd reader(
        ::open(fmt::format("/proc/self/fd/{}", fd.get()).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!reader) fail_errno("cannot open {} for reading", file.path);
    fd = input_.descriptors.park(std::move(reader));
  }
  return bases_.emplace(inode.id, std::move(fd)).first->second.get();
}

// One that was open by two names, of which the second has gone as well.
void Fifos::link_again(const File& file) {
  const Inode& inode = input_.context.inode(file.head.inode);
  const std::string path = input_.options.relocations.apply(file.path);
  const std::string& first = paths_.at(inode.id);
  struct stat now;
  if (file.head.mnt != 0 || (inode.head.flags & CRYO_INODE_DELETED) != 0 || path == first ||
      names::lstat(path, now) == 0)
    return;
  const DeathDeferred deferred(input_.created);
  if (names::link(first, path) != 0) fail_errno("cannot give the FIFO {} its other name {}", first, path);
  input_.created.add(path);
}

UniqueFd Fifos::open(const File& file, const FileUse& use) {
  const int flags = (open_flags(file, use) & ~(O_NOFOLLOW | O_DIRECT)) | O_NONBLOCK | O_CLOEXEC;
  const std::string again = fmt::format("/proc/self/fd/{}", base(file));
  link_again(file);
  UniqueFd fd;
  if (own_.contains(file.head.inode)) {
    const OwnNames own;
    fd = names::open(again, flags);
  } else {
    fd = names::open(again, flags);
  }
  if (!fd) fail_errno("cannot open the FIFO {}", file.path);
  return fd;
}

namespace {

// One that is gone is made anew.
void check_fifo(FileCheck& at, const File& file, const FileUse& use) {
  const Inode& inode = at.context.inode(file.head.inode);
  if (inode.pipe) check_pipe(at, inode);
  struct stat now;
  if (inode.head.flags & CRYO_INODE_DELETED) return;
  if (names::stat(at.path, now) != 0) {
    const int error = errno;
    const std::size_t end = at.path.rfind('/');
    if (error != ENOENT && !is_very_file(at, file))
      at.problem(error, "cannot be found: {}", way_error(error));
    else if (error == ENOENT && names::access(end == 0 ? "/" : at.path.substr(0, end), W_OK | X_OK) != 0)
      at.problem(errno, "cannot be made again: {}", way_error(errno));
    return;
  }
  if (!S_ISFIFO(now.st_mode))
    return at.problem(ESTALE,
                      "is a {} now, and was a FIFO (if it is removed or renamed, the FIFO is made again)",
                      file_type(now.st_mode));
  if (is_foreign_fifo(at.options, file, inode, at.path))
    at.problem(ESTALE, "its name now refers to a different FIFO; --changed-files=warn accepts it");
  if (!may_fill_fifo(at.context, inode, at.path))
    at.problem(EACCES, "its contents cannot be restored, as none of the processes may write to it");
  check_access(at, file, use);
}

}  // namespace

const FileKind kFifoKind = {.kind = CRYO_FILE_FIFO,
                            .check = check_fifo,
                            .open = [](FileMaking& making, const File& file,
                                       const FileUse& use) { return making.state<Fifos>().open(file, use); },
                            .redirectable = Redirectable::kIfData};

}  // namespace cryo
