// SPDX-License-Identifier: GPL-2.0-only
#include "base/place.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string_view>

#include "base/error.h"

namespace cryo {
namespace {

constexpr int kMostLinks = 40;  // as the kernel
constexpr std::uint32_t kNoNumber = 65534;
constexpr int kPlaceFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW;
constexpr int kOpenFlags = O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK |
                           O_SYNC | O_ASYNC | O_DIRECT | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_TMPFILE;

// Users that have no number here: only where this is no initial user namespace, and then there is no right
// either.
bool is_trusted(const struct stat& link) {
  const auto uid = static_cast<std::uint32_t>(::syscall(SYS_setfsuid, static_cast<std::uint32_t>(-1)));
  if (link.st_uid == 0 || link.st_uid == uid) return true;
  if (link.st_uid != kNoNumber) return false;
  char text[64] = "";
  const UniqueFd map(::open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC));
  const ssize_t got = map ? ::read(map.get(), text, sizeof(text) - 1) : 0;
  return got > 0 && std::string_view(text).find("4294967295") == std::string_view::npos;
}

std::string path_of(const UniqueFd& link) {
  char text[PATH_MAX];
  const ssize_t size =
      ::readlink(("/proc/self/fd/" + std::to_string(link.get())).c_str(), text, sizeof(text));
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "(unknown)";
}

bool is_of_procfs(const UniqueFd& file) {
  struct statfs system;
  return ::fstatfs(file.get(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

// Where the walk begins at a directory, that is the root of the job's names: of a mount namespace, say.
class NameWalk {
 public:
  NameWalk(int directory, const std::string& path);
  [[nodiscard]] std::optional<NameAt> to_end(bool follow);
  [[nodiscard]] UniqueFd to_file();
  [[nodiscard]] const OthersLink& refused() const { return refused_; }

 private:
  void put_in_front(const std::string& path);
  [[nodiscard]] bool go_to_root();
  [[nodiscard]] UniqueFd open_next(const std::string& part) const;
  [[nodiscard]] bool may_follow(const UniqueFd& link);
  [[nodiscard]] bool follow_link(const UniqueFd& link);
  UniqueFd root_;  // none: the caller's
  UniqueFd at_;
  std::deque<std::string> parts_;
  int links_ = 0;
  OthersLink refused_;
};

NameWalk::NameWalk(int directory, const std::string& path) {
  if (directory != AT_FDCWD) root_.reset(::openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  put_in_front(path);
  if (path.starts_with('/'))
    (void)go_to_root();
  else
    at_.reset(::openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

bool NameWalk::go_to_root() {
  at_.reset(root_ ? ::openat(root_.get(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC)
                  : ::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  return static_cast<bool>(at_);
}

void NameWalk::put_in_front(const std::string& path) {
  std::deque<std::string> parts;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end > at && path.compare(at, end - at, ".") != 0) parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  parts_.insert(parts_.begin(), parts.begin(), parts.end());
}

// A directory, which may have to be mounted first; or something else.
UniqueFd NameWalk::open_next(const std::string& part) const {
  UniqueFd next(::openat(at_.get(), part.c_str(), O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC));
  if (!next && errno == ENOTDIR)
    next.reset(::openat(at_.get(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  return next;
}

bool NameWalk::may_follow(const UniqueFd& link) {
  struct stat now;
  if (::fstat(link.get(), &now) != 0) return false;
  if (++links_ > kMostLinks) return errno = ELOOP, false;
  if (is_trusted(now)) return true;
  refused_ = {path_of(link), now.st_uid};
  return errno = ELOOP, false;
}

bool NameWalk::follow_link(const UniqueFd& link) {
  char target[PATH_MAX];
  if (!may_follow(link)) return false;
  const ssize_t size = ::readlinkat(link.get(), "", target, sizeof(target));
  if (size <= 0 || static_cast<std::size_t>(size) == sizeof(target))
    return errno = size < 0 ? errno : ENOENT, false;
  const std::string text(target, static_cast<std::size_t>(size));
  if (text.starts_with('/') && !go_to_root()) return false;
  put_in_front(text);
  return true;
}

std::optional<NameAt> NameWalk::to_end(bool follow) {
  while (at_ && !parts_.empty()) {
    const std::string part = std::move(parts_.front());
    parts_.pop_front();
    const bool last = parts_.empty() && part != "..";
    if (last && !follow) return NameAt{std::move(at_), part};
    UniqueFd next = open_next(part);
    if (!next && last && errno == ENOENT) return NameAt{std::move(at_), part};
    struct stat now;
    if (!next || ::fstat(next.get(), &now) != 0) return {};
    if (S_ISLNK(now.st_mode)) {
      if (!follow_link(next)) return {};
    } else if (last) {
      return NameAt{std::move(at_), part};
    } else if (!S_ISDIR(now.st_mode)) {
      return errno = ENOTDIR, std::nullopt;
    } else {
      at_ = std::move(next);
    }
  }
  if (!at_) return {};
  return NameAt{std::move(at_), "."};
}

UniqueFd NameWalk::to_file() {
  while (at_ && !parts_.empty()) {
    const std::string part = std::move(parts_.front());
    parts_.pop_front();
    UniqueFd next = open_next(part);
    struct stat now;
    if (!next || ::fstat(next.get(), &now) != 0) return {};
    if (S_ISLNK(now.st_mode) && !is_of_procfs(next)) {
      if (!follow_link(next)) return {};
      continue;
    }
    if (S_ISLNK(now.st_mode)) {
      if (!may_follow(next)) return {};
      next.reset(::openat(at_.get(), part.c_str(), O_PATH | O_CLOEXEC));
      if (!next || ::fstat(next.get(), &now) != 0) return {};
    }
    if (!parts_.empty() && !S_ISDIR(now.st_mode)) return errno = ENOTDIR, UniqueFd();
    at_ = std::move(next);
  }
  return std::move(at_);
}

}  // namespace

UniqueFd find_file(const std::string& path, OthersLink& refused) {
  if (path.empty()) return errno = ENOENT, UniqueFd();
  NameWalk walk(AT_FDCWD, path);
  UniqueFd file = walk.to_file();
  const int error = errno;
  struct stat now;
  refused = walk.refused();
  if (file && path.ends_with('/') && ::fstat(file.get(), &now) == 0 && !S_ISDIR(now.st_mode))
    return errno = ENOTDIR, UniqueFd();
  errno = error;
  return file;
}

int open_without_links(int directory, const std::string& path, int flags, mode_t mode) {
  open_how how{};
  how.flags =
      static_cast<std::uint64_t>((flags & O_PATH ? flags & kPlaceFlags : flags & kOpenFlags) | O_CLOEXEC);
  if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) how.mode = mode & 07777;
  how.resolve = RESOLVE_NO_SYMLINKS;
  return static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof(how)));
}

bool is_own_descriptor(const std::string& path) {
  return path.starts_with("/proc/self/fd/");
}

std::optional<NameAt> find_place(int directory, const std::string& path, bool follow) {
  const std::size_t end = path.rfind('/');
  const std::string name = path.substr(end == std::string::npos ? 0 : end + 1);
  if (path.empty()) return errno = ENOENT, std::nullopt;
  if (!name.empty() && name != "." && name != "..") {
    const std::string parent = end == std::string::npos ? "." : path.substr(0, end + 1);
    NameAt place{UniqueFd(open_without_links(directory, parent, O_PATH | O_DIRECTORY, 0)), name};
    struct stat now;
    if (place.directory &&
        (!follow || ::fstatat(place.directory.get(), name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0 ||
         !S_ISLNK(now.st_mode)))
      return place;
  }
  return NameWalk(directory, path).to_end(follow);
}

int open_at(int directory, const std::string& path, int flags, mode_t mode) {
  // Mostly there is no link on the way, and one call says so.
  const int direct = open_without_links(directory, path, flags, mode);
  if (direct >= 0 || (errno != ELOOP && errno != ENOSYS)) return direct;
  const auto place = find_place(directory, path, (flags & O_NOFOLLOW) == 0);
  if (!place) return -1;
  const int fd = open_without_links(place->directory.get(), place->name, flags, mode);
  if (fd >= 0 || errno != ENOSYS) return fd;
  return ::openat(place->directory.get(), place->name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode);
}

void replace_template(std::string& path) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz012345";
  constexpr std::size_t kSize = 6;
  std::uint8_t random[kSize];
  if (path.size() < kSize || ::getentropy(random, kSize) != 0)
    fail_errno("cannot choose a name like {}", path);
  for (std::size_t i = 0; i < kSize; ++i)
    path[path.size() - kSize + i] = kLetters[random[i] % kLetters.size()];
}

std::string way_error(int error) {
  if (error != ELOOP) return errno_text(error);
  return "a symbolic link of another user is on its way (--relocate=OLD=NEW says where it is now)";
}

}  // namespace cryo
