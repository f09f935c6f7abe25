// SPDX-License-Identifier: GPL-2.0-only
#include "context/find_context.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstring>

#include "base/open_regular.h"
#include "base/place.h"
#include "context/origin.h"

namespace cryo {
namespace {

bool is_null_or_zero(const struct stat& file) {
  return S_ISCHR(file.st_mode) && (file.st_rdev == makedev(1, 3) || file.st_rdev == makedev(1, 5));
}

FoundContext failed(int error) {
  return {{}, error, std::strerror(error)};
}

}  // namespace

FoundContext find_context(const std::string& path) {
  OthersLink link;
  FoundContext found;
  if (is_privileged_caller())
    found.place = find_file(path, link);
  else
    found.place.reset(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (found.place) return found;
  if (link.path.empty()) return failed(errno);
  return {{}, EPERM, fmt::format("the symbolic link {} belongs to user {}, who can have it lead anywhere: name the file itself",
                                 link.path, link.owner)};
}

std::string why_never_opened(const UniqueFd& place) {
  struct stat now {};
  struct statfs system {};
  if (::fstat(place.get(), &now) != 0 || ::fstatfs(place.get(), &system) != 0) return "cannot be looked at";
  if ((S_ISCHR(now.st_mode) || S_ISBLK(now.st_mode)) && !is_null_or_zero(now))
    return "is a device, which is not opened by its name: redirect standard input from it, and name that (-)";
  if (S_ISREG(now.st_mode) && is_kernel_interface(system)) return "is a file of the kernel's, and no context";
  return {};
}

UniqueFd open_found(const UniqueFd& place) {
  return UniqueFd(::open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

FoundContext open_regular_context(const std::string& path) {
  FoundContext found = find_context(path);
  struct stat now {};
  if (!found.place) return found;
  if (::fstat(found.place.get(), &now) != 0) return failed(errno);
  if (!S_ISREG(now.st_mode) || !why_never_opened(found.place).empty()) return failed(ESTALE);
  found.place = open_found(found.place);
  return found.place ? std::move(found) : failed(errno);
}

}  // namespace cryo
