// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/target_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "cr_checkpoint/stale_files.h"

namespace cryo {
namespace {

constexpr mode_t kModeWhileWriting = 0600;
constexpr mode_t kModeComplete = 0400;  // BLCR's: a context is not to be edited

// Signals are blocked in all of cr_checkpoint; opening a FIFO waits for its reader, and ^C must end that.
class SignalsLetIn {
 public:
  SignalsLetIn() {
    sigset_t none;
    sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, &saved_);
  }
  ~SignalsLetIn() { ::pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }
  SignalsLetIn(const SignalsLetIn&) = delete;
  SignalsLetIn& operator=(const SignalsLetIn&) = delete;

 private:
  sigset_t saved_;
};

bool is_trusted(uid_t owner) {
  return owner == 0 || owner == ::geteuid();
}

// Whoever owns a FIFO or a device gets all of the memory that is written to it. A pipe without a name has
// been handed to the caller, by way of /dev/stdout for example.
bool is_trusted_special(const struct stat& status, int fd) {
  constexpr long kPipefs = 0x50495045;
  struct statfs system {};
  return is_trusted(status.st_uid) || (::fstatfs(fd, &system) == 0 && system.f_type == kPipefs);
}

// To a device that another user's symbolic link leads to, only he would have named it. Links in /dev and
// /proc are the system's.
bool is_reached_directly(const std::string& path, const struct stat& found) {
  if (path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/") || path == "/dev/stdout" ||
      path == "/dev/stderr")
    return true;
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  const UniqueFd direct(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof(how))));
  struct stat status {};
  return direct && ::fstat(direct.get(), &status) == 0 && status.st_dev == found.st_dev &&
         status.st_ino == found.st_ino;
}

// fsync() of pipes, devices and some file systems is EINVAL: they have nothing to wait for.
void sync_to_disk(int fd, const std::string& name) {
  if (::fsync(fd) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
    fail_errno("cannot bring {} to the disk", name);
}

// Gives `from` the name `to` unless something has it already (false). Links first, as NFS can do that and not
// RENAME_NOREPLACE; the old name then stays.
bool name_if_free(int directory, const std::string& from, const std::string& to) {
  if (::linkat(directory, from.c_str(), directory, to.c_str(), 0) == 0) return true;
  if (errno != EEXIST && errno != ENOENT &&
      ::renameat2(directory, from.c_str(), directory, to.c_str(), RENAME_NOREPLACE) == 0)
    return true;
  if (errno == EEXIST) return false;
  fail_errno("cannot rename {} to {}", from, to);
}

}  // namespace

TargetFile::TargetFile(const Options& options)
    : placement_(options.placement), sync_(options.sync), backup_name_(options.backup_name) {
  captured();
  if (const auto* file = std::get_if<DestinationFile>(&options.destination))
    open_path(*file);
  else
    open_descriptor(std::get<DestinationFd>(options.destination).fd);
}

void TargetFile::open_descriptor(int fd) {
  name_ = fd == 1 ? "standard output" : fmt::format("descriptor {}", fd);
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) fail_errno("{}", name_);
  if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH) != 0)
    fail(EBADF, "{} is not open for writing", name_);
  if (::isatty(fd) == 1)
    fail(EINVAL, "{} is a terminal, where a context is of no use: redirect it, or name a file", name_);
  fd_ = fd;
}

void TargetFile::open_path(const DestinationFile& file) {
  name_ = file.path;
  const std::size_t slash = file.path.rfind('/');
  base_ = slash == std::string::npos ? file.path : file.path.substr(slash + 1);
  if (base_.empty() || base_ == "." || base_ == "..") fail(EISDIR, "{} is a directory", name_);
  if (open_special(file)) return;
  open_directory();
  if (placement_ == Placement::kClobber && open_in_place()) return;
  open_temporary();
}

void TargetFile::open_directory() {
  const std::string path = name_.substr(0, name_.size() - base_.size()) + ".";
  directory_.reset(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory_ &&
      errno == EACCES) {  // one may write into a directory that one may not list, but not sync it
    directory_readable_ = false;
    directory_.reset(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  if (!directory_) fail_errno("cannot open the directory of {}", name_);
}

// Devices, FIFOs and sockets are written to, never replaced. Only if the user named them: a FIFO that
// somebody put where context.PID goes by default would give him the memory of the process.
bool TargetFile::open_special(const DestinationFile& file) {
  struct stat status;
  // What is opened for writing is what has been looked at, whatever has the name by then.
  const UniqueFd place(::open(name_.c_str(), O_PATH | O_CLOEXEC));
  if (!place || ::fstat(place.get(), &status) != 0 || S_ISREG(status.st_mode)) return false;
  if (S_ISDIR(status.st_mode)) fail(EISDIR, "{} is a directory", name_);
  if (S_ISBLK(status.st_mode)) fail(EINVAL, "{} is a block device", name_);
  if (!file.chosen_by_user) fail(EEXIST, "{} exists and is not a regular file", name_);
  if (S_ISSOCK(status.st_mode)) fail(EINVAL, "{} is a socket: connect it to standard output (-f -)", name_);
  if (!is_trusted_special(status, place.get()))
    fail(EPERM,
         "{} belongs to user {}, who would get all memory of the process: write to standard output (-f -) "
         "instead",
         name_, status.st_uid);
  if (::geteuid() == 0 && !is_reached_directly(name_, status))
    fail(EPERM, "{} leads to a device or FIFO through a symbolic link: name it by a path without links",
         name_);
  {
    SignalsLetIn while_waiting;
    const std::string found = fmt::format("/proc/self/fd/{}", place.get());
    owned_.reset(::open(found.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  }
  if (!owned_) fail_errno("cannot open {}", name_);
  fd_ = owned_.get();
  if (::isatty(fd_) == 1) fail(EINVAL, "{} is a terminal, where a context is of no use", name_);
  // /dev/full says what it has to say to nothing, too; the module could not ask it.
  if (S_ISCHR(status.st_mode) && ::write(fd_, "", 0) < 0) fail_errno("cannot write to {}", name_);
  return true;
}

namespace {

// Against another checkpoint only: flock(1) and a restart have locks of the other kind.  Where there are
// none, it is not known.
bool hold_in_place(int fd) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return ::fcntl(fd, F_OFD_SETLK, &whole) == 0 || (errno != EAGAIN && errno != EACCES);
}

}  // namespace

// False when the old file cannot be written, or others could read it then (it is theirs, or they may have it
// open): then a new one takes its place.
bool TargetFile::open_in_place() {
  constexpr int kFlags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  owned_.reset(::openat(directory_.get(), base_.c_str(), kFlags | O_CREAT | O_EXCL, kModeWhileWriting));
  created_ = static_cast<bool>(owned_);
  if (!owned_ && errno == EEXIST) owned_.reset(::openat(directory_.get(), base_.c_str(), kFlags));
  if (!owned_) {
    if (errno == EACCES || errno == ELOOP || errno == ETXTBSY || errno == EPERM) return false;
    fail_errno("cannot write to {}", name_);
  }
  struct stat status {};
  if (::fstat(owned_.get(), &status) != 0) fail_errno("{}", name_);
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() ||
      (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    owned_.reset();
    return false;
  }
  if (!hold_in_place(owned_.get())) fail(EBUSY, "{} is being written by another checkpoint", name_);
  fd_ = owned_.get();
  how_ = How::kInPlace;
  return true;
}

// Somebody else's in a sticky directory, or marked (chattr +i), it would be found out when all has been
// written. rmdir(2) of what is no directory asks for the same right as rename(2), and does nothing.
void TargetFile::check_replaceable() const {
  struct stat status {
  }, directory{};
  if (::fstatat(directory_.get(), base_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      S_ISDIR(status.st_mode))
    return;
  if (::unlinkat(directory_.get(), base_.c_str(), AT_REMOVEDIR) == 0 || errno != EPERM) return;
  if (::fstat(directory_.get(), &directory) != 0) return;
  if ((directory.st_mode & S_ISVTX) != 0 && status.st_uid != ::geteuid())
    fail(EPERM,
         "{} belongs to user {}, and nobody else can replace it in its directory (sticky bit): name another "
         "file",
         name_, status.st_uid);
  fail(EPERM, "{} cannot be replaced: {} (chattr +i or +a?)", name_, errno_text(EPERM));
}

void TargetFile::open_temporary() {
  constexpr int kAttempts = 100;
  if (placement_ == Placement::kNoClobber &&
      ::faccessat(directory_.get(), base_.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
    fail(EEXIST, "{} exists already", name_);
  if (placement_ != Placement::kNoClobber) check_replaceable();
  if (::fstatat(directory_.get(), base_.c_str(), &replaced_, AT_SYMLINK_NOFOLLOW) != 0) replaced_ = {};
  remove_stale_files(directory_.get(), base_);
  for (int attempt = 0; attempt < kAttempts && !owned_; ++attempt) {
    temporary_ = attempt == 0 ? fmt::format(".{}.tmp", base_) : fmt::format(".{}.tmp.{}", base_, attempt);
    owned_.reset(::openat(directory_.get(), temporary_.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kModeWhileWriting));
    if (!owned_ && errno != EEXIST) fail_errno("cannot create a temporary file for {}", name_);
    if (owned_ && !hold_file(directory_.get(), temporary_, owned_.get())) owned_.reset();
  }
  if (!owned_)
    fail(EEXIST, "there are {} temporary files of {} already: remove .{}.tmp*", kAttempts, name_, base_);
  fd_ = owned_.get();
  how_ = How::kTemporary;
}

// Of a file that is not whole any more there is to be no end, which would make it seem to be, whatever ends
// this.
void TargetFile::begin() {
  if (how_ != How::kInPlace) return;
  // What others were allowed to read before is not for them now; only the owner can change that.
  if (::fchmod(fd_, kModeWhileWriting) != 0 && errno != EPERM)
    fail_errno("cannot change the mode of {}", name_);
  begun_ = true;
  if (::ftruncate(fd_, 0) != 0) fail_errno("cannot empty {}", name_);
}

// By the clock of the file times: a checkpoint of the same processes that begins after this one has a later
// one.
void TargetFile::captured() {
  ::clock_gettime(CLOCK_REALTIME, &captured_);
}

void TargetFile::sync() {
  if (how_ != How::kStream) {
    // There are file systems that cannot: then the time is that of the last write.
    const timespec times[2] = {{0, UTIME_OMIT}, captured_};
    if (::futimens(fd_, times) != 0 && errno == EIO) fail_errno("cannot set the time of {}", name_);
    if (::fchmod(fd_, kModeComplete) != 0 && errno != EPERM)
      fail_errno("cannot change the mode of {}", name_);
  }
  if (sync_) sync_to_disk(fd_, name_);
}

void TargetFile::sync_directory() const {
  if (sync_ && directory_readable_) sync_to_disk(directory_.get(), "the directory of " + name_);
}

// By a link that replaces what has that name, so that NAME is never without a file. False: the file system
// has no links, or the old file is one to which the caller may make none.
bool TargetFile::link_old() const {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string link = fmt::format("{}.tmp.{}", backup_name_, attempt);
    if (::linkat(directory_.get(), base_.c_str(), AT_FDCWD, link.c_str(), 0) != 0) {
      if (errno == EEXIST) continue;
      if (errno == EPERM || errno == EOPNOTSUPP || errno == EMLINK || errno == ENOSYS) return false;
      fail_errno("cannot rename {} to {}", name_, backup_name_);
    }
    const bool renamed = ::rename(link.c_str(), backup_name_.c_str()) == 0;
    const int error = errno;
    // Where the two were one file already, both names are still there.
    ::unlink(link.c_str());
    errno = error;
    if (!renamed) fail_errno("cannot rename {} to {}", name_, backup_name_);
    sync_backup();
    return true;
  }
  fail(EEXIST, "there are {} temporary files already: remove {}.tmp.*", kAttempts, backup_name_);
}

// Before NAME is another file.
void TargetFile::sync_backup() const {
  if (!sync_) return;
  const std::size_t slash = backup_name_.rfind('/');
  const std::string path = slash == std::string::npos ? "." : backup_name_.substr(0, slash + 1);
  const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) return sync_to_disk(directory.get(), "the directory of " + backup_name_);
  if (errno != EACCES) fail_errno("cannot open the directory of {}", backup_name_);
}

// --backup: the old file gets another name, which is returned, and both names lead to it for a while.
std::string TargetFile::keep_old() const {
  constexpr int kMaxBackups = 100000;
  for (int number = 1; number <= kMaxBackups; ++number) {
    std::string backup = fmt::format("{}.~{}~", base_, number);
    if (!name_if_free(directory_.get(), base_, backup)) continue;
    sync_directory();
    return backup;
  }
  fail(EEXIST, "there are {} backups of {} already", kMaxBackups, name_);
}

// The new file and the old one exchange their names, and the old one, which is under the temporary name then,
// gets its own. Where the file system cannot do that, either, NAME is missing for a moment.
void TargetFile::exchange_old() const {
  const bool exchanged = ::renameat2(directory_.get(), temporary_.c_str(), directory_.get(), base_.c_str(),
                                     RENAME_EXCHANGE) == 0;
  const std::string& old = exchanged ? temporary_ : base_;
  if (::renameat(directory_.get(), old.c_str(), AT_FDCWD, backup_name_.c_str()) != 0) {
    const int error = errno;
    if (exchanged)
      ::renameat2(directory_.get(), temporary_.c_str(), directory_.get(), base_.c_str(), RENAME_EXCHANGE);
    errno = error;
    fail_errno("cannot rename {} to {}", name_, backup_name_);
  }
  if (!exchanged && ::renameat(directory_.get(), temporary_.c_str(), directory_.get(), base_.c_str()) != 0) {
    const int error = errno;
    ::renameat(AT_FDCWD, backup_name_.c_str(), directory_.get(), base_.c_str());
    errno = error;
    fail_errno("cannot rename {} to {}", temporary_, name_);
  }
  sync_backup();
}

bool TargetFile::has_old() const {
  return ::faccessat(directory_.get(), base_.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void TargetFile::publish_new_name() const {
  if (placement_ == Placement::kNoClobber) {
    if (!name_if_free(directory_.get(), temporary_, base_)) fail(EEXIST, "{} exists already", name_);
    ::unlinkat(directory_.get(), temporary_.c_str(), 0);  // is gone already if it was renamed
    return;
  }
  std::string backup;
  if (placement_ == Placement::kBackup && has_old()) {
    if (backup_name_.empty())
      backup = keep_old();
    else if (!link_old())
      return exchange_old();
  }
  if (::renameat(directory_.get(), temporary_.c_str(), directory_.get(), base_.c_str()) == 0) return;
  const int error = errno;
  if (!backup.empty()) forget_backup(backup);
  errno = error;
  fail_errno("cannot rename {} to {}", temporary_, name_);
}

// The old file has its name alone again.
void TargetFile::forget_backup(const std::string& backup) const {
  if (::renameat2(directory_.get(), backup.c_str(), directory_.get(), base_.c_str(), RENAME_NOREPLACE) != 0 &&
      errno == EEXIST)
    ::unlinkat(directory_.get(), backup.c_str(), 0);
}

namespace {

bool is_later(const timespec& one, const timespec& other) {
  return std::pair(one.tv_sec, one.tv_nsec) > std::pair(other.tv_sec, other.tv_nsec);
}

bool is_as_it_was(const struct stat& now, const struct stat& before) {
  return now.st_dev == before.st_dev && now.st_ino == before.st_ino && !is_later(now.st_ctim, before.st_ctim);
}

}  // namespace

// While this one was compressed, or waited for its disk, its processes may have been checkpointed again, and
// ended.  Who comes between this look and the rename is later by less than a moment.
void TargetFile::check_not_overtaken() const {
  const UniqueFd fd(
      ::openat(directory_.get(), base_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat now {};
  if (!fd || ::fstat(fd.get(), &now) != 0 || !S_ISREG(now.st_mode) || is_as_it_was(now, replaced_) ||
      !has_context(fd.get()))
    return;
  // Others could make one up.
  if (::geteuid() != 0 && !is_trusted(now.st_uid)) return;
  if (is_later(now.st_mtim, captured_))
    fail(EBUSY, "{} is from a later checkpoint, and is kept: this one is discarded", name_);
}

void TargetFile::check_still_named() const {
  struct stat written {};
  if (::fstat(fd_, &written) != 0) fail_errno("{}", name_);
  if (!is_named(directory_.get(), base_, written))
    fail(ESTALE, "{} was removed or replaced while it was written", name_);
}

void TargetFile::publish() {
  if (how_ == How::kTemporary) {
    check_not_overtaken();
    publish_new_name();
  } else if (how_ == How::kInPlace) {
    check_still_named();
  }
  published_ = true;
  if (how_ != How::kStream) sync_directory();
}

void TargetFile::discard() const noexcept {
  if (published_) return;
  if (how_ == How::kTemporary) ::unlinkat(directory_.get(), temporary_.c_str(), 0);
  struct stat written {};
  if (how_ == How::kInPlace && (begun_ || created_) && ::fstat(fd_, &written) == 0 &&
      is_named(directory_.get(), base_, written))
    ::unlinkat(directory_.get(), base_.c_str(), 0);
}

}  // namespace cryo
