// SPDX-License-Identifier: GPL-2.0-only
#include "context/temporary.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"

namespace cryo {

TemporaryFile::TemporaryFile(const std::string& name) : name_(name) {
  const char* tmpdir = std::getenv("TMPDIR");
  for (const char* dir : {tmpdir, "/var/tmp"}) {
    if (dir == nullptr || *dir == '\0') continue;
    place_ = dir;
    fd_.reset(::open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600));
    if (fd_) return;
  }
  place_ = "memory";
  fd_.reset(::memfd_create("cryo-context", MFD_CLOEXEC));
  if (!fd_) fail_errno("{}: no place for a temporary copy: tried $TMPDIR, /var/tmp and memory", name);
}

void TemporaryFile::write(std::uint64_t offset, std::span<const std::byte> data) const {
  while (!data.empty()) {
    const ssize_t n = ::pwrite(fd_.get(), data.data(), data.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      fail_errno("{}: temporary copy in {} (set TMPDIR for another place), at byte {}", name_, place_,
                 offset);
    offset += static_cast<std::uint64_t>(n);
    data = data.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace cryo
