// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files/output_files.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/crc32c.h"
#include "base/data_range.h"
#include "base/error.h"
#include "base/termination.h"
#include "restart/common/proc_files.h"
#include "restart/files/other_uses.h"
#include "restart/rights/identity.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

constexpr std::uint64_t kOneCopy = 16 << 20;  // bytes, after which one can be killed on any file system

bool is_written_by_descriptor(const File& file) {
  const int flags = static_cast<int>(file.head.flags);
  return file.head.kind == CRYO_FILE_PATH && (flags & O_PATH) == 0 && (flags & O_ACCMODE) != O_RDONLY;
}

}  // namespace

bool covers(int fd, const File& file) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_PATH) != 0) return false;
  const int has = flags & O_ACCMODE;
  // What it could not do it is not to be able to do by what root has.
  return (has == O_RDWR && is_capable_of_nothing()) || has == (static_cast<int>(file.head.flags) & O_ACCMODE);
}

bool is_output(const File& file, const FileUse& use) {
  return is_written_by_descriptor(file) && !use.fds.empty();
}

Outputs find_outputs(const Context& context, const FileUses& uses) {
  Outputs outputs;
  for (const auto& [id, use] : uses) {
    const File& file = context.file(id);
    if (!is_output(file, use) || !S_ISREG(context.inode(file.head.inode).head.mode)) continue;
    Output& output = outputs[file.head.inode];
    output.all_append = output.all_append && (file.head.flags & O_APPEND) != 0;
    output.outside |= file.head.outside;
  }
  return outputs;
}

Tail tail_of(const Context& context, const Outputs& outputs, const RestartOptions& options,
             const File& file) {
  if (!is_written_by_descriptor(file) || !S_ISREG(context.inode(file.head.inode).head.mode))
    return Tail::kStays;
  switch (options.tails) {
    case Tails::kStay:
      return Tail::kStays;
    case Tails::kGo:
      return Tail::kGoes;
    case Tails::kAside:
      return Tail::kAside;
    case Tails::kDefault:
      break;
  }
  const auto output = outputs.find(file.head.inode);
  return output == outputs.end() || output->second.all_append || output->second.outside != 0 ? Tail::kStays
                                                                                             : Tail::kAside;
}

OutputPlace output_place(const Context& context, const Outputs& outputs, const File& file, const FileUse& use,
                         const OtherUse* other, std::uint64_t size) {
  const auto output = outputs.find(file.head.inode);
  if (output == outputs.end() || !is_output(file, use) || !was_at_end(file, context.inode(file.head.inode)))
    return OutputPlace::kSaved;
  const bool log =
      std::any_of(use.fds.begin(), use.fds.end(), [](const cryo_fd& at) { return at.fd <= STDERR_FILENO; });
  const bool only_writes = (static_cast<int>(file.head.flags) & O_ACCMODE) == O_WRONLY;
  if (other != nullptr && !other->context) return only_writes ? OutputPlace::kAppends : OutputPlace::kEnd;
  if (output->second.outside & CRYO_OUTSIDE_SHARED)
    return log || only_writes ? OutputPlace::kAppends : OutputPlace::kEnd;
  // Who reads it, too, may have a part of the file for himself; and who only writes, as long as nobody else
  // has.
  const bool behind_others = log || (only_writes && size > context.inode(file.head.inode).head.size);
  return output->second.outside != 0 && behind_others ? OutputPlace::kAppends : OutputPlace::kSaved;
}

namespace {

// What cr_restart gives away has to be the job's for sure.  An ordinary user's job gets nothing that its user
// has not; to that of another user, the name has to lead to it as well where numbers are not enough (NFS,
// FUSE).
bool is_the_output(const File& file, const Inode& inode, int fd) {
  struct stat now, named;
  if (identity_of(inode.head, fd) != Identity::kSame || ::fstat(fd, &now) != 0 || !S_ISREG(now.st_mode))
    return false;
  if (is_known_same(inode.head, fd)) return true;
  const OwnNames own;
  return !is_made_up(inode.head) &&
         (is_capable_of_nothing() ||
          (names::lstat(file.path, named) == 0 && named.st_dev == now.st_dev && named.st_ino == now.st_ino));
}

}  // namespace

int own_output(const File& file, const Inode& inode, const FileUse& use, const int (&fds)[3]) {
  if (!is_output(file, use) || !S_ISREG(inode.head.mode) || inode.head.fs_magic == 0) return -1;
  for (const cryo_fd& fd : use.fds)
    if (fd.fd < 3 && fds[fd.fd] >= 0 && covers(fds[fd.fd], file) && is_the_output(file, inode, fds[fd.fd]))
      return fds[fd.fd];
  return -1;
}

OldEnd old_end_of(const Inode& inode, int fd) {
  if (!inode.end || fd < 0) return OldEnd::kUnknown;
  std::array<std::byte, CRYO_END_BYTES_MAX> bytes;
  const auto start = static_cast<off_t>(inode.head.size - inode.end->length);
  std::size_t done = 0;
  while (done < inode.end->length) {
    const ssize_t got =
        ::pread(fd, bytes.data() + done, inode.end->length - done, start + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return OldEnd::kUnknown;
    done += static_cast<std::size_t>(got);
  }
  return crc32c(std::span(bytes).first(done)) == inode.end->crc ? OldEnd::kSame : OldEnd::kOther;
}

std::string rewritten_text(const Inode& inode, std::uint64_t size) {
  return fmt::format(
      "has been rewritten since the checkpoint: it has {} bytes, and had {}, of which the last {} now differ",
      size, inode.head.size, inode.end->length);
}

namespace {

constexpr unsigned kMostAside = 10000;  // a file system may have every name that it is asked for

}  // namespace

std::string aside_name(const std::string& path) {
  const std::size_t slash = path.rfind('/') + 1;
  struct stat now;
  for (unsigned number = 1; number <= kMostAside; ++number) {
    if (is_pending_termination()) fail(EINTR, "interrupted by a signal");
    const std::string suffix = fmt::format(".cut.{}", number);
    std::size_t end = path.size();
    if (end - slash + suffix.size() > NAME_MAX) end = slash + NAME_MAX - suffix.size();
    while (end < path.size() && end > slash && (static_cast<unsigned char>(path[end]) & 0xc0) == 0x80)
      --end;  // UTF-8
    if (std::string name = path.substr(0, end) + suffix; names::lstat(name, now) != 0) return name;
  }
  fail(EEXIST, "{}.cut.1 to {}.cut.{} are there already: remove or rename them", path, path, kMostAside);
}

namespace {

// From then on whoever is left removes it, should this process be killed.
UniqueFd make_aside(CreatedPaths& created, std::string& name, const std::string& path,
                    const struct stat& of) {
  constexpr int kTries = 100;  // another restart may take one
  const DeathDeferred deferred(created);
  UniqueFd to;
  for (int i = 0; !to && i < kTries && (i == 0 || errno == EEXIST); ++i) {
    name = aside_name(path);
    to = names::open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  }
  if (!to) fail_errno("cannot create {} for the data added to {} since the checkpoint", name, path);
  created.add_tail(name, path, of);
  return to;
}

}  // namespace

void keep_tail_aside(CreatedPaths& created, int fd, std::uint64_t size, const std::string& path,
                     CutFile& cut) {
  struct stat now;
  if (::fstat(fd, &now) != 0) fail_errno("cannot stat {}", path);
  const auto end = static_cast<std::uint64_t>(now.st_size);
  if (end <= size) return;
  if (!cut.from) cut.from = names::open(fmt::format("/proc/self/fd/{}", fd), O_RDONLY);
  const UniqueFd& from = cut.from;
  if (!from) fail_errno("{}: cannot read the data added since the checkpoint, to save it", path);
  std::string name;
  UniqueFd to = make_aside(created, name, path, now);
  if (::ftruncate(to.get(), static_cast<off_t>(end - size)) != 0)
    fail_errno("cannot set the size of {}", name);
  // Holes stay holes.
  for (auto data = next_data(from.get(), size, end); data; data = next_data(from.get(), data->end, end)) {
    auto offset = static_cast<off_t>(data->start);
    if (::lseek(to.get(), offset - static_cast<off_t>(size), SEEK_SET) < 0)
      fail_errno("cannot seek in {}", name);
    while (static_cast<std::uint64_t>(offset) < data->end) {
      const std::uint64_t left = data->end - static_cast<std::uint64_t>(offset);
      const ssize_t copied =
          ::sendfile(to.get(), from.get(), &offset, static_cast<std::size_t>(std::min(left, kOneCopy)));
      if (copied < 0 && errno == EINTR) continue;
      if (copied < 0) fail_errno("cannot copy the data added to {} since the checkpoint to {}", path, name);
      if (copied == 0) break;
    }
  }
  // For whom FILE is, as far as that can be had: with an ACL the bits of the group are its mask. One that the
  // directory gives to new files (default ACL) goes first: the mode would let in who is in that, and need not
  // be in FILE's.
  if (names::remove_acl(to.get()) != 0) fail_errno("cannot remove the ACL of {}", name);
  const bool has_group = ::fgetxattr(fd, "system.posix_acl_access", nullptr, 0) < 0 &&
                         names::fchown(to.get(), -1, now.st_gid) == 0;
  if (names::fchmod(to.get(), now.st_mode & (has_group ? 0666 : 0600)) != 0)
    fail_errno("cannot set the mode of {}", name);
  // Before FILE is cut: the machine may crash again.
  if (::fsync(to.get()) != 0) fail_errno("cannot write {} to its disk", name);
  if (::lseek(to.get(), 0, SEEK_END) < 0) fail_errno("cannot seek in {}", name);
  cut.to = std::move(to);
  cut.end = end;
}

const StepKind kTruncateStep("truncate output files", [](const FailedCall& call) {
  return fmt::format("cannot truncate {} to its size at the checkpoint", failed_file(call));
});

// ESTALE is what the stub says of other bytes.
const StepKind kOldEndStep("compare output files with the checkpoint", [](const FailedCall& call) {
  return call.error == ESTALE
             ? fmt::format("{} is not truncated: it was rewritten during the restart", failed_file(call))
             : fmt::format("{} is not truncated: cannot read it to check whether it was rewritten",
                           failed_file(call));
});

}  // namespace cryo
