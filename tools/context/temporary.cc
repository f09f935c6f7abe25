// SPDX-License-Identifier: GPL-2.0-only
#include "context/temporary.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <mutex>

#include "base/error.h"
#include "base/privileged_caller.h"

namespace cryo {
namespace {

constexpr const char* kLastPlace = "/var/tmp";  // but for memory

UniqueFd open_in(const char* directory) {
  return UniqueFd(::open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600));
}

// What can be written to its file system before what is left for others is touched: a twentieth of it, but no
// more than kMostLeft.
std::int64_t spare_of(int fd) {
  constexpr std::uint64_t kMostLeft = 1 << 30, kPart = 20;
  struct statvfs system {};
  if (::fstatvfs(fd, &system) != 0 || system.f_blocks == 0) return std::numeric_limits<std::int64_t>::max();
  const std::uint64_t left = std::min<std::uint64_t>(system.f_blocks * system.f_frsize / kPart, kMostLeft);
  return static_cast<std::int64_t>(system.f_bavail * system.f_frsize) - static_cast<std::int64_t>(left);
}

}  // namespace

TemporaryFile::TemporaryFile(const std::string& name) : name_(name), leaves_room_(is_privileged_caller()) {
  const char* tmpdir = std::getenv("TMPDIR");
  for (const char* dir : {tmpdir, kLastPlace}) {
    if (dir == nullptr || *dir == '\0') continue;
    place_ = dir;
    fd_ = open_in(dir);
    if (fd_) return;
  }
  place_ = "memory";
  fd_.reset(::memfd_create("cryo-context", MFD_CLOEXEC));
  if (!fd_) fail_errno("{}: no place for a temporary copy: tried $TMPDIR, /var/tmp and memory", name);
}

// False, with errno as it was: there is no other place, or it is full as well.
bool TemporaryFile::move_on(int full) const {
  const int error = errno;
  const std::unique_lock<std::shared_mutex> alone(moving_);
  if (fd_.get() != full) return true;  // another thread has been here
  UniqueFd fd = place_ == kLastPlace ? UniqueFd() : open_in(kLastPlace);
  off_t done = 0;
  const off_t size = ::lseek(full, 0, SEEK_END);
  if (fd && leaves_room_ && spare_of(fd.get()) < size) fd.reset();
  while (fd && done < size) {
    const ssize_t n = ::sendfile(fd.get(), full, &done, static_cast<std::size_t>(size - done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fd.reset();
  }
  errno = error;
  if (!fd) return false;
  place_ = kLastPlace;
  fd_ = std::move(fd);
  until_look_ = 0;
  return true;
}

// Else ENOSPC.  The nearer to the limit, the more often the file system is asked.
bool TemporaryFile::leaves_room(int fd, std::size_t bytes) const {
  constexpr std::int64_t kLooks = 4;
  const auto more = static_cast<std::int64_t>(bytes);
  if (!leaves_room_ || until_look_.fetch_sub(more) >= more) return true;
  const std::int64_t spare = spare_of(fd);
  if (spare < more) return errno = ENOSPC, false;
  until_look_ = (spare - more) / kLooks;
  return true;
}

void TemporaryFile::write(std::uint64_t offset, std::span<const std::byte> data) const {
  while (!data.empty()) {
    std::shared_lock<std::shared_mutex> writes(moving_);
    const int fd = fd_.get();
    const bool room = leaves_room(fd, data.size());
    const ssize_t n = room ? ::pwrite(fd, data.data(), data.size(), static_cast<off_t>(offset)) : -1;
    writes.unlock();
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == ENOSPC || errno == EDQUOT) && move_on(fd)) continue;
    if (n < 0)
      fail_errno("{}: temporary copy in {} (set TMPDIR for another place), at byte {}{}", name_, place_,
                 offset, room ? "" : ", as what is left is for others");
    offset += static_cast<std::uint64_t>(n);
    data = data.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace cryo
