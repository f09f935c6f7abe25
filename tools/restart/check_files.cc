// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "restart/check.h"
#include "restart/files.h"
#include "restart/timers.h"

namespace cryo {
namespace {

class FileChecker {
 public:
  FileChecker(const CheckInput& input, Findings& findings) : input_(input), findings_(findings) {}

  void check();

 private:
  [[nodiscard]] bool is_own_proc_file() const;
  void check_path(const File& file, const FileUse& use);
  void check_size(const File& file, const FileUse& use, const Inode& inode, const struct stat& now);
  void check_access(const File& file, const FileUse& use);
  void check_device(const File& file, const FileUse& use);
  void check_terminal(const File& file, const FileUse& use);
  void check_socket(const File& file);
  void check_pipe(const Inode& inode);
  void check_inotify(const Inotify& inotify);
  void check_timerfd(const cryo_timerfd& timer);
  void check_numbers();

  template <typename... Args>
  void problem(int code, fmt::format_string<Args...> format, Args&&... args) {
    findings_.problem(code, "pid {}: {}: {}", input_.process.head.pid, what_,
                      fmt::format(format, std::forward<Args>(args)...));
  }

  const CheckInput& input_;
  Findings& findings_;
  std::string what_;  // "descriptor 3 (/path)"
  std::string path_;  // relocated
};

std::string describe(const FileUse& use, const std::string& path) {
  if (!use.fds.empty()) return fmt::format("descriptor {} ({})", use.fds.front().fd, path);
  if (use.executable) return fmt::format("program {}", path);
  return fmt::format("mapped file {}", path);
}

// What has been written cannot be written again without what was before it.
void FileChecker::check_size(const File& file, const FileUse& use, const Inode& inode,
                             const struct stat& now) {
  const int flags = static_cast<int>(file.head.flags);
  const bool written = use.mapped_shared_writable || (!use.fds.empty() && (flags & O_ACCMODE) != O_RDONLY);
  if (flags & O_PATH || !written) return;
  if (static_cast<std::uint64_t>(now.st_size) < inode.head.size)
    problem(ESTALE, "the file is shorter than at the checkpoint: it has {} bytes, and had {}", now.st_size,
            inode.head.size);
}

void FileChecker::check_access(const File& file, const FileUse& use) {
  const int flags = open_flags(file, use);
  if (flags & O_PATH) return;
  const int mode = flags & O_ACCMODE;
  const int wanted = (mode != O_WRONLY ? R_OK : 0) | (mode != O_RDONLY ? W_OK : 0);
  if (::faccessat(AT_FDCWD, path_.c_str(), wanted, AT_EACCESS) != 0)
    problem(errno, "cannot be opened for {}: {}",
            mode == O_RDONLY   ? "reading"
            : mode == O_WRONLY ? "writing"
                               : "reading and writing",
            std::strerror(errno));
}

// A file of the process itself in /proc: it comes into being with the process, and is opened then.
bool FileChecker::is_own_proc_file() const {
  const auto lies_in = [this](pid_t id) {
    const std::string directory = fmt::format("/proc/{}", id);
    return path_ == directory || path_.starts_with(directory + "/");
  };
  return lies_in(input_.process.head.pid) ||
         std::any_of(input_.process.threads.begin(), input_.process.threads.end(),
                     [&](const Thread& thread) { return lies_in(thread.head.tid); });
}

void FileChecker::check_path(const File& file, const FileUse& use) {
  if (is_own_proc_file()) return;
  const Inode& inode = input_.context.inode(file.head.inode);
  struct stat now;
  const bool link = (static_cast<int>(file.head.flags) & O_PATH) && S_ISLNK(inode.head.mode);
  if ((link ? ::lstat(path_.c_str(), &now) : ::stat(path_.c_str(), &now)) != 0) {
    problem(errno, "cannot be found: {}", std::strerror(errno));
    return;
  }
  if ((now.st_mode & S_IFMT) != (inode.head.mode & S_IFMT)) {
    problem(ESTALE, "is not a file of the same type as at the checkpoint");
    return;
  }
  if (S_ISFIFO(now.st_mode) && !(static_cast<int>(file.head.flags) & O_PATH)) {
    problem(EOPNOTSUPP, "a named pipe cannot be restored");
    return;
  }
  // Numbers are given out anew at each boot: on request, the one of that name will do.
  const bool device =
      (S_ISCHR(now.st_mode) || S_ISBLK(now.st_mode)) && !input_.options.device_policy(file.path);
  if (device && now.st_rdev != inode.head.rdev)
    problem(ESTALE, "is not the same device as at the checkpoint");
  if (S_ISREG(now.st_mode)) check_size(file, use, inode, now);
  check_access(file, use);
}

void FileChecker::check_device(const File& file, const FileUse& use) {
  if (left_closed(file, input_.options)) return;
  const auto chosen = input_.options.device_policy(file.path);
  if (chosen == DevicePolicy::kFail)
    problem(EOPNOTSUPP, "is a device, which --device={}=fail does not allow", file.path);
  else
    check_path(file, use);
}

void FileChecker::check_terminal(const File& file, const FileUse& use) {
  std::uint32_t number = file.head.stdio_fd;
  if (file.head.kind == CRYO_FILE_CTTY) number = use.fds.empty() ? 3 : use.fds.front().fd;
  const bool own = number < 3 && ::fcntl(static_cast<int>(number), F_GETFD) >= 0;
  if (file.head.kind == CRYO_FILE_STDIO) {
    if (!own) problem(EBADF, "is taken over from cr_restart, whose descriptor {} is closed", number);
    return;
  }
  if (own && ::isatty(static_cast<int>(number))) return;
  const UniqueFd terminal(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal) problem(ENXIO, "is its terminal, and cr_restart has none");
}

void FileChecker::check_socket(const File& file) {
  const std::string text = socket_problem(*file.socket, input_.options.relocations);
  if (!text.empty()) problem(EADDRINUSE, "{}", text);
}

void FileChecker::check_pipe(const Inode& inode) {
  std::uint64_t limit = 0;
  std::ifstream("/proc/sys/fs/pipe-max-size") >> limit;
  if (inode.pipe->head.capacity > limit && !capable(input_.own, CAP_SYS_RESOURCE))
    problem(EPERM, "a pipe of {} bytes is larger than /proc/sys/fs/pipe-max-size allows ({})",
            inode.pipe->head.capacity, limit);
}

void FileChecker::check_inotify(const Inotify& inotify) {
  for (const Watch& watch : inotify.watches) {
    const std::string path = input_.options.relocations.apply(watch.path);
    if (::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) != 0)
      problem(errno, "{}, which watch {} of it is of, cannot be watched: {}", path, watch.head.wd,
              std::strerror(errno));
  }
}

void FileChecker::check_timerfd(const cryo_timerfd& timer) {
  if (is_alarm_clock(timer.clockid) && !capable(input_.own, CAP_WAKE_ALARM))
    problem(EPERM, "a timer that wakes the machine takes CAP_WAKE_ALARM");
}

// The numbers must be possible; so must a few more, for the restart itself.
void FileChecker::check_numbers() {
  rlimit limit;
  if (input_.process.fds.empty() || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  std::uint64_t allowed = limit.rlim_max;
  if (input_.process.rlimits.size() > RLIMIT_NOFILE)
    allowed = std::max<std::uint64_t>(allowed, input_.process.rlimits[RLIMIT_NOFILE].max);
  const std::uint32_t highest = input_.process.fds.back().fd;
  if (highest >= allowed)
    findings_.problem(EMFILE, "pid {}: its descriptor {} is above the hard limit of open files ({})",
                      input_.process.head.pid, highest, allowed);
}

void FileChecker::check() {
  check_numbers();
  for (const auto& [id, use] : file_uses(input_.context, input_.process)) {
    const File& file = input_.context.file(id);
    path_ = input_.options.relocations.apply(file.path);
    what_ = describe(use, path_);
    switch (file.head.kind) {
      case CRYO_FILE_PATH:
        check_path(file, use);
        break;
      case CRYO_FILE_CTTY:
      case CRYO_FILE_STDIO:
        check_terminal(file, use);
        break;
      case CRYO_FILE_SOCKET:
        check_socket(file);
        break;
      case CRYO_FILE_PIPE:
        check_pipe(input_.context.inode(file.head.inode));
        break;
      case CRYO_FILE_DEVICE:
      case CRYO_FILE_CLOSED:
        check_device(file, use);
        break;
      case CRYO_FILE_CONTENTS:
      case CRYO_FILE_REMOVED_DIR:
      case CRYO_FILE_EPOLL:
      case CRYO_FILE_EVENTFD:
      case CRYO_FILE_SIGNALFD:
        break;
      case CRYO_FILE_INOTIFY:
        check_inotify(*file.inotify);
        break;
      case CRYO_FILE_TIMERFD:
        check_timerfd(*file.timerfd);
        break;
      default:
        problem(EOPNOTSUPP, "is of a kind that this cr_restart does not know ({})", file.head.kind);
    }
  }
}

}  // namespace

void check_files(const CheckInput& input, Findings& findings) {
  FileChecker(input, findings).check();
}

}  // namespace cryo
