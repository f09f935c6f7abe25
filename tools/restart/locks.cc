// SPDX-License-Identifier: GPL-2.0-only
#include "restart/locks.h"

#include <fcntl.h>
#include <sys/file.h>

#include "base/error.h"

namespace cryo {
namespace {

constexpr std::uint64_t kToTheEnd = ~0ULL >> 1;

struct flock range_of(const cryo_lock& lock) {
  struct flock range {};
  range.l_type = static_cast<short>(lock.type);
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(lock.start);
  range.l_len = lock.end >= kToTheEnd ? 0 : static_cast<off_t>(lock.end - lock.start + 1);
  return range;
}

}  // namespace

void take_file_locks(const Context& context, const Process& process,
                     const std::map<std::uint32_t, int>& fds) {
  for (const cryo_lock& lock : process.locks) {
    const auto fd = fds.find(lock.file);
    if ((lock.kind != CRYO_LOCK_FLOCK && lock.kind != CRYO_LOCK_OFD) || fd == fds.end()) continue;
    int result = 0;
    if (lock.kind == CRYO_LOCK_FLOCK) {
      result = ::flock(fd->second, (lock.type == F_WRLCK ? LOCK_EX : LOCK_SH) | LOCK_NB);
    } else {
      const struct flock range = range_of(lock);
      result = ::fcntl(fd->second, F_OFD_SETLK, &range);
    }
    if (result != 0)
      fail_errno("cannot lock {} again (descriptor {})", context.file(lock.file).path, fd->second);
  }
}

void plan_process_locks(const Process& process, const std::map<std::uint32_t, int>& fds, CallList& calls,
                        StubArea& area) {
  for (const cryo_lock& lock : process.locks) {
    const auto fd = fds.find(lock.file);
    if (fd != fds.end() && lock.kind == CRYO_LOCK_LEASE)
      calls.add(stub::Step::kFileLock, lock.file, SYS_fcntl, fd->second, F_SETLEASE, lock.type);
    if (lock.kind != CRYO_LOCK_POSIX || fd == fds.end()) continue;
    auto* range = area.array<struct flock>(1);
    *range = range_of(lock);
    calls.add(stub::Step::kFileLock, lock.file, SYS_fcntl, fd->second, F_SETLK, range);
  }
}

}  // namespace cryo
