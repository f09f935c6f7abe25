// SPDX-License-Identifier: GPL-2.0-only
#include "context/read_at.h"

#include <unistd.h>

#include "base/error.h"

namespace cryo {

void read_at(int fd, std::uint64_t offset, std::span<std::byte> to, const std::string& name) {
  while (!to.empty()) {
    const ssize_t n = ::pread(fd, to.data(), to.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_errno("{}: read at byte {}", name, offset);
    if (n == 0) fail(EBADMSG, "{} became shorter while it was read: ends at byte {} now", name, offset);
    offset += static_cast<std::uint64_t>(n);
    to = to.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace cryo
