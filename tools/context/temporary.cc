// SPDX-License-Identifier: GPL-2.0-only
#include "context/temporary.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>

#include "base/error.h"

namespace cryo {
namespace {

constexpr const char* kLastPlace = "/var/tmp";  // but for memory

UniqueFd open_in(const char* directory) {
  return UniqueFd(::open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600));
}

}  // namespace

TemporaryFile::TemporaryFile(const std::string& name) : name_(name) {
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
  while (fd && done < size) {
    const ssize_t n = ::sendfile(fd.get(), full, &done, static_cast<std::size_t>(size - done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fd.reset();
  }
  errno = error;
  if (!fd) return false;
  place_ = kLastPlace;
  fd_ = std::move(fd);
  return true;
}

void TemporaryFile::write(std::uint64_t offset, std::span<const std::byte> data) const {
  while (!data.empty()) {
    std::shared_lock<std::shared_mutex> writes(moving_);
    const int fd = fd_.get();
    const ssize_t n = ::pwrite(fd, data.data(), data.size(), static_cast<off_t>(offset));
    writes.unlock();
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == ENOSPC || errno == EDQUOT) && move_on(fd)) continue;
    if (n < 0)
      fail_errno("{}: temporary copy in {} (set TMPDIR for another place), at byte {}", name_, place_,
                 offset);
    offset += static_cast<std::uint64_t>(n);
    data = data.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace cryo
