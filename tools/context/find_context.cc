// SPDX-License-Identifier: GPL-2.0-only
#include "context/find_context.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/open_regular.h"
#include "base/place.h"
#include "base/privileged_caller.h"

namespace cryo {
namespace {

bool is_null_or_zero(const struct stat& file) {
  return S_ISCHR(file.st_mode) && (file.st_rdev == makedev(1, 3) || file.st_rdev == makedev(1, 5));
}

// A directory is mounted there first, where that is done when it is used (autofs).
UniqueFd place_of(const std::string& path) {
  UniqueFd place(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!place && errno == ENOTDIR) place.reset(::open(path.c_str(), O_PATH | O_CLOEXEC));
  return place;
}

// In a root directory without /proc: by the name, if it is still that of what has been looked at, which no
// device or FIFO is.
UniqueFd open_again(const UniqueFd& place, const std::string& path, int flags) {
  struct stat found {
  }, opened{};
  if (::fstat(place.get(), &found) != 0 || !(S_ISREG(found.st_mode) || S_ISDIR(found.st_mode)))
    return errno = ENOENT, UniqueFd();
  UniqueFd fd(::open(path.c_str(), flags));
  if (fd &&
      (::fstat(fd.get(), &opened) != 0 || opened.st_dev != found.st_dev || opened.st_ino != found.st_ino))
    return errno = ESTALE, UniqueFd();
  return fd;
}

FoundContext failed(int error) {
  return {{}, error, errno_text(error)};
}

}  // namespace

FoundContext find_context(const std::string& path) {
  OthersLink link;
  FoundContext found;
  if (is_privileged_caller())
    found.place = find_file(path, link);
  else
    found.place = place_of(path);
  if (found.place) return found;
  if (link.path.empty()) return failed(errno);
  return {
      {},
      EPERM,
      fmt::format("the symbolic link {} belongs to user {}, who can point it anywhere: name the file itself",
                  link.path, link.owner)};
}

std::string why_never_opened(const UniqueFd& place) {
  struct stat now {};
  struct statfs system {};
  if (::fstat(place.get(), &now) != 0 || ::fstatfs(place.get(), &system) != 0) return "cannot be inspected";
  if ((S_ISCHR(now.st_mode) || S_ISBLK(now.st_mode)) && !is_null_or_zero(now))
    return "is a device, which is not opened by its name: redirect standard input from it, and name that (-)";
  if (S_ISREG(now.st_mode) && is_kernel_interface(system)) return "is a kernel pseudo-file, not a context";
  return {};
}

UniqueFd open_found(const UniqueFd& place, const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  UniqueFd fd(::open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), kFlags));
  if (!fd && errno == ENOENT && ::access("/proc/self/fd", F_OK) != 0 && !is_privileged_caller())
    return open_again(place, path, kFlags);
  return fd;
}

FoundContext open_regular_context(const std::string& path) {
  FoundContext found = find_context(path);
  struct stat now {};
  if (!found.place) return found;
  if (::fstat(found.place.get(), &now) != 0) return failed(errno);
  if (!S_ISREG(now.st_mode) || !why_never_opened(found.place).empty()) return failed(ESTALE);
  found.place = open_found(found.place, path);
  return found.place ? std::move(found) : failed(errno);
}

}  // namespace cryo
