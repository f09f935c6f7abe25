// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace cryo {
namespace {

// The kernel sets it in every open() of a 64-bit process, and in pipes and sockets does not.
constexpr int kLargeFile = 0100000;
constexpr int kStatusFlags = O_APPEND | O_DIRECT | O_NOATIME | O_NONBLOCK;

class Restorer {
 public:
  explicit Restorer(FileRestoreInput& input)
      : input_(input), uses_(file_uses(input.context, input.process)) {}

  RestoredFiles restore();

 private:
  [[nodiscard]] UniqueFd open(const File& file, const FileUse& use);
  [[nodiscard]] UniqueFd reopen_contents(const File& file, const FileUse& use);
  [[nodiscard]] UniqueFd removed_directory(const File& file, const FileUse& use);
  [[nodiscard]] UniqueFd pipe_end(const File& file, const FileUse& use);
  [[nodiscard]] UniqueFd terminal(const File& file, const FileUse& use);
  void set_state(const File& file, int fd);
  void place(const File& file, const FileUse& use, UniqueFd fd);

  FileRestoreInput& input_;
  std::map<std::uint32_t, FileUse> uses_;
  std::map<std::uint32_t, UniqueFd> contents_;     // by inode
  std::map<std::uint32_t, UniqueFd> directories_;  // removed ones, by inode
  std::map<std::uint32_t, PipeEnds> pipes_;        // by inode: ends that no file has taken yet
  std::map<std::uint32_t, UniqueFd> any_end_;      // by inode: to open further ends by
  RestoredFiles result_;
};

// Without O_NOFOLLOW, which is about the path by which a file was opened once: this one is a link.
UniqueFd reopen(int fd, int flags, const char* what) {
  UniqueFd again(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), (flags & ~O_NOFOLLOW) | O_CLOEXEC));
  if (!again) fail_errno("cannot open {} a second time", what);
  return again;
}

UniqueFd Restorer::reopen_contents(const File& file, const FileUse& use) {
  const Inode& inode = input_.context.inode(file.head.inode);
  auto base = contents_.find(inode.id);
  if (base == contents_.end())
    base = contents_.emplace(inode.id, input_.descriptors.park(make_contents(input_, inode, file))).first;
  return reopen(base->second.get(), open_flags(file, use), file.path.c_str());
}

UniqueFd Restorer::removed_directory(const File& file, const FileUse& use) {
  const Inode& inode = input_.context.inode(file.head.inode);
  auto base = directories_.find(inode.id);
  if (base == directories_.end()) {
    const std::string path = input_.options.relocations.apply(file.path);
    UniqueFd fd =
        make_removed_directory(input_.created, path, {inode.head.mode, inode.head.uid, inode.head.gid});
    base = directories_.emplace(inode.id, input_.descriptors.park(std::move(fd))).first;
  }
  return reopen(base->second.get(), open_flags(file, use), file.path.c_str());
}

UniqueFd Restorer::pipe_end(const File& file, const FileUse& use) {
  const Inode& inode = input_.context.inode(file.head.inode);
  if (!pipes_.contains(inode.id)) {
    PipeEnds ends = make_pipe(inode);
    any_end_.emplace(inode.id, input_.descriptors.park_copy(ends.reader.get()));
    pipes_.emplace(inode.id, PipeEnds{input_.descriptors.park(std::move(ends.reader)),
                                      input_.descriptors.park(std::move(ends.writer))});
  }
  PipeEnds& ends = pipes_.at(inode.id);
  const int mode = static_cast<int>(file.head.flags) & O_ACCMODE;
  const bool opened = file.head.flags & kLargeFile;
  if (!opened && mode == O_RDONLY && ends.reader) return std::move(ends.reader);
  if (!opened && mode == O_WRONLY && ends.writer) return std::move(ends.writer);
  return reopen(any_end_.at(inode.id).get(), open_flags(file, use) & ~O_DIRECT, "a pipe");
}

// cr_restart's own descriptor of the same number; a terminal can also be had by name.
UniqueFd Restorer::terminal(const File& file, const FileUse& use) {
  std::uint32_t number = 3;
  if (file.head.kind == CRYO_FILE_STDIO)
    number = file.head.stdio_fd;
  else if (!use.fds.empty())
    number = use.fds.front().fd;
  const bool own = number < 3 && input_.stdio[number];
  if (own && (file.head.kind == CRYO_FILE_STDIO || ::isatty(input_.stdio[number].get())))
    return input_.descriptors.park_copy(input_.stdio[number].get());
  UniqueFd fd(::open("/dev/tty", open_flags(file, use) | O_CLOEXEC));
  if (!fd) fail_errno("cannot open the terminal /dev/tty");
  return fd;
}

UniqueFd Restorer::open(const File& file, const FileUse& use) {
  switch (file.head.kind) {
    case CRYO_FILE_PATH:
    case CRYO_FILE_DEVICE:
    case CRYO_FILE_CLOSED:  // cr_restart --device says otherwise
      return open_by_path(input_, file, use);
    case CRYO_FILE_REMOVED_DIR:
      return removed_directory(file, use);
    case CRYO_FILE_CONTENTS:
      return reopen_contents(file, use);
    case CRYO_FILE_CTTY:
    case CRYO_FILE_STDIO:
      return terminal(file, use);
    case CRYO_FILE_PIPE:
      return pipe_end(file, use);
    case CRYO_FILE_EPOLL:
      return make_epoll(file);
    case CRYO_FILE_SOCKET:
      return make_socket(input_, file);
    case CRYO_FILE_EVENTFD:
      return make_eventfd(file);
    case CRYO_FILE_TIMERFD:
      return make_timerfd(file);
    case CRYO_FILE_SIGNALFD:
      return make_signalfd(file);
    case CRYO_FILE_INOTIFY:
      return make_inotify(file);
    default:
      fail(EOPNOTSUPP, "file {} is of an unknown kind ({})", file.path, file.head.kind);
  }
}

// Position and status flags belong to the open file, whatever its kind.  What is shared with
// cr_restart's own caller (a terminal, a log pipe) is not changed.
void Restorer::set_state(const File& file, int fd) {
  if (file.head.kind == CRYO_FILE_STDIO || file.head.kind == CRYO_FILE_CTTY) return;
  const int flags = static_cast<int>(file.head.flags);
  if (flags & O_PATH) return;
  if (file.head.kind == CRYO_FILE_PATH || file.head.kind == CRYO_FILE_CONTENTS) {
    const bool seekable = ::lseek(fd, 0, SEEK_CUR) >= 0;
    if (seekable && ::lseek(fd, static_cast<off_t>(file.head.pos), SEEK_SET) < 0)
      fail_errno("{}: cannot go to offset {}", file.path, file.head.pos);
  }
  const int now = ::fcntl(fd, F_GETFL);
  if ((now & kStatusFlags) != (flags & kStatusFlags) && ::fcntl(fd, F_SETFL, flags & kStatusFlags) != 0)
    fail_errno("{}: cannot set the status flags {:#o}", file.path, flags & kStatusFlags);
}

// To all its numbers; what only mappings or the executable need is parked.
void Restorer::place(const File& file, const FileUse& use, UniqueFd fd) {
  for (const cryo_fd& wanted : use.fds) {
    const int number = static_cast<int>(wanted.fd);
    const int cloexec = (wanted.flags & CRYO_FD_CLOEXEC) ? FD_CLOEXEC : 0;
    if (fd.get() == number) {
      if (::fcntl(number, F_SETFD, cloexec) != 0) fail_errno("descriptor {}", number);
      (void)fd.release();
      fd = UniqueFd(::fcntl(number, F_DUPFD_CLOEXEC, 3));  // for the other numbers
      if (!fd) fail_errno("cannot duplicate descriptor {}", number);
    } else if (::dup3(fd.get(), number, cloexec ? O_CLOEXEC : 0) != number) {
      fail_errno("cannot put {} at descriptor {}", file.path, number);
    }
  }
  if (use.executable) result_.exe_fd = input_.descriptors.park_copy(fd.get()).release();
  if (!use.fds.empty()) {
    result_.fds.emplace(file.id, static_cast<int>(use.fds.front().fd));
  } else if (use.mapped) {
    const int parked = input_.descriptors.park(std::move(fd)).release();
    result_.fds.emplace(file.id, parked);
    result_.parked.insert(parked);
  }
}

RestoredFiles Restorer::restore() {
  for (const auto& [id, use] : uses_) {
    const File& file = input_.context.file(id);
    if (left_closed(file, input_.options)) continue;
    UniqueFd fd = open(file, use);
    set_state(file, fd.get());
    place(file, use, std::move(fd));
  }
  for (auto& [id, fd] : contents_) {
    const Inode& inode = input_.context.inode(id);
    finish_contents(inode, fd.get());
    if (seals_of(inode) == 0) continue;
    result_.seals.emplace_back(fd.get(), seals_of(inode));
    result_.parked.insert(fd.release());
  }
  contents_.clear();
  directories_.clear();
  pipes_.clear();
  any_end_.clear();
  return std::move(result_);
}

}  // namespace

std::map<std::uint32_t, FileUse> file_uses(const Context& context, const Process& process) {
  std::map<std::uint32_t, FileUse> uses;
  for (const cryo_fd& fd : process.fds) uses[fd.file].fds.push_back(fd);
  const Mm& mm = context.mm(process.head.mm);
  for (const cryo_vma& vma : mm.vmas) {
    if (vma.kind != CRYO_VMA_FILE) continue;
    FileUse& use = uses[vma.file];
    use.mapped = true;
    if (!(vma.flags & CRYO_VMA_SHARED)) continue;
    use.mapped_shared = true;
    if (vma.flags & CRYO_VMA_MAYWRITE) use.mapped_shared_writable = true;
  }
  if (mm.head.exe_file != 0) uses[mm.head.exe_file].executable = true;
  return uses;
}

bool left_closed(const File& file, const RestartOptions& options) {
  if (file.head.kind != CRYO_FILE_DEVICE && file.head.kind != CRYO_FILE_CLOSED) return false;
  const auto chosen = options.device_policy(file.path);
  return chosen ? *chosen == DevicePolicy::kClose : file.head.kind == CRYO_FILE_CLOSED;
}

bool is_first_with(const Context& context, const Process& process, std::uint32_t file) {
  for (const Process& other : context.processes) {
    const bool has = std::any_of(other.fds.begin(), other.fds.end(),
                                 [file](const cryo_fd& fd) { return fd.file == file; });
    if (has) return &other == &process;
  }
  return false;
}

int open_flags(const File& file, const FileUse& use) {
  if (use.fds.empty()) return use.mapped_shared_writable ? O_RDWR : O_RDONLY;
  int flags = static_cast<int>(file.head.flags) & ~(O_CREAT | O_EXCL | O_TRUNC | O_ASYNC);
  if ((flags & O_TMPFILE) == O_TMPFILE) flags &= ~O_TMPFILE;  // there is a file now
  return flags | O_NOCTTY;
}

RestoredFiles restore_files(FileRestoreInput& input) {
  return Restorer(input).restore();
}

}  // namespace cryo
