// SPDX-License-Identifier: GPL-2.0-only
#include "restart/output_files.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "restart/files.h"
#include "restart/identity.h"
#include "restart/proc_files.h"

namespace cryo {
namespace {

bool is_written_by_descriptor(const File& file) {
  const int flags = static_cast<int>(file.head.flags);
  return file.head.kind == CRYO_FILE_PATH && (flags & O_PATH) == 0 && (flags & O_ACCMODE) != O_RDONLY;
}

bool covers(int fd, const File& file) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_PATH) != 0) return false;
  const int has = flags & O_ACCMODE;
  return has == O_RDWR || has == (static_cast<int>(file.head.flags) & O_ACCMODE);
}

}  // namespace

bool is_output(const File& file, const FileUse& use) {
  return is_written_by_descriptor(file) && !use.fds.empty();
}

Tail tail_of(const Context& context, const RestartOptions& options, const File& file) {
  if (!is_written_by_descriptor(file) || !S_ISREG(context.inode(file.head.inode).head.mode)) return Tail::kStays;
  switch (options.tails) {
    case Tails::kStay:
      return Tail::kStays;
    case Tails::kGo:
      return Tail::kGoes;
    case Tails::kDefault:
      break;
  }
  for (const auto& [id, other] : context.files)
    if (other.head.inode == file.head.inode && is_written_by_descriptor(other) && (other.head.flags & O_APPEND) != 0)
      return Tail::kStays;
  return Tail::kAside;
}

int own_output(const File& file, const Inode& inode, const FileUse& use, const int (&fds)[3]) {
  if (!is_output(file, use) || !S_ISREG(inode.head.mode) || inode.head.fs_magic == 0) return -1;
  for (const cryo_fd& fd : use.fds)
    if (fd.fd < 3 && fds[fd.fd] >= 0 && covers(fds[fd.fd], file) &&
        identity_of(inode.head, fds[fd.fd]) == Identity::kSame)
      return fds[fd.fd];
  return -1;
}

std::string aside_name(const std::string& path) {
  struct stat now;
  for (unsigned number = 1;; ++number)
    if (std::string name = fmt::format("{}.cut.{}", path, number); names::lstat(name, now) != 0) return name;
}

void keep_tail_aside(CreatedPaths& created, int fd, std::uint64_t size, const std::string& path) {
  struct stat now;
  if (::fstat(fd, &now) != 0) fail_errno("cannot stat {}", path);
  if (static_cast<std::uint64_t>(now.st_size) <= size) return;
  const UniqueFd from = names::open(fmt::format("/proc/self/fd/{}", fd), O_RDONLY);
  if (!from) fail_errno("{}: what has come since the checkpoint cannot be read, to be kept aside", path);
  const std::string name = aside_name(path);
  const DeathDeferred deferred(created);
  const UniqueFd to = names::open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!to) fail_errno("cannot make {} for what has come to {} since the checkpoint", name, path);
  created.add(name);
  auto offset = static_cast<off_t>(size);
  while (offset < now.st_size) {
    const ssize_t copied =
        ::sendfile(to.get(), from.get(), &offset, static_cast<std::size_t>(now.st_size - offset));
    if (copied < 0 && errno == EINTR) continue;
    if (copied < 0) fail_errno("cannot copy what has come to {} since the checkpoint to {}", path, name);
    if (copied == 0) break;
  }
  if (::fchmod(to.get(), now.st_mode & 0666) != 0) fail_errno("cannot set the mode of {}", name);
}

}  // namespace cryo
