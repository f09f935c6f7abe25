// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files/locks.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "restart/files/files.h"
#include "restart/stub/step_kind.h"

namespace cryo {
namespace {

const StepKind kFileLockStep("lock files", [](const FailedCall& call) {
  return fmt::format("cannot lock {} again", failed_file(call));
});

constexpr std::uint64_t kToTheEnd = ~0ULL >> 1;

struct flock range_of(const cryo_lock& lock) {
  struct flock range {};
  range.l_type = static_cast<short>(lock.type);
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(lock.start);
  range.l_len = lock.end >= kToTheEnd ? 0 : static_cast<off_t>(lock.end - lock.start + 1);
  return range;
}

bool has_in_table(const Process& process, std::uint32_t file) {
  return std::any_of(process.fds.begin(), process.fds.end(),
                     [file](const cryo_fd& fd) { return fd.file == file; });
}

class LockSharing {
 public:
  LockSharing(const Context& context, const FileStore& store) : context_(context), store_(store) {
    for (std::size_t i = 0; i < context.processes.size(); ++i)
      if (!context.processes[i].threads.empty()) by_pid_.emplace(context.processes[i].head.pid, i);
  }

  // `teller`: under whom it is in the context.
  [[nodiscard]] std::size_t taker_of(const cryo_lock& lock, std::size_t teller) const;

 private:
  const Context& context_;
  const FileStore& store_;
  std::map<std::int32_t, std::size_t> by_pid_;
};

// Who took it need not have the file any more: a lease is taken when the others have closed it.
std::size_t LockSharing::taker_of(const cryo_lock& lock, std::size_t teller) const {
  const auto owner = by_pid_.find(lock.owner);
  const bool lease = lock.kind == CRYO_LOCK_LEASE;
  if (lock.owner != 0 && owner != by_pid_.end() &&
      ((!lease && store_.fds.contains(lock.file)) ||
       has_in_table(context_.processes[owner->second], lock.file)))
    return owner->second;
  const auto keeper = store_.kept_by.find(lock.file);
  return lease && keeper != store_.kept_by.end() ? keeper->second : teller;
}

}  // namespace

std::map<std::size_t, std::vector<cryo_lock>> share_file_locks(const Context& context,
                                                               const FileStore& store) {
  const LockSharing sharing(context, store);
  std::map<std::size_t, std::vector<cryo_lock>> shared;
  for (std::size_t i = 0; i < context.processes.size(); ++i)
    for (const cryo_lock& lock : context.processes[i].locks)
      if (lock.kind != CRYO_LOCK_POSIX) shared[sharing.taker_of(lock, i)].push_back(lock);
  return shared;
}

void take_file_locks(const Context& context, const std::vector<cryo_lock>& locks,
                     const std::map<std::uint32_t, int>& fds, const FileStore& store) {
  for (const cryo_lock& lock : locks) {
    if (lock.kind != CRYO_LOCK_FLOCK && lock.kind != CRYO_LOCK_OFD) continue;
    const auto own = fds.find(lock.file);
    const auto stored = store.fds.find(lock.file);
    if (own == fds.end() && stored == store.fds.end()) continue;  // left closed
    const int fd = own != fds.end() ? own->second : stored->second.get();
    int result = 0;
    if (lock.kind == CRYO_LOCK_FLOCK) {
      result = ::flock(fd, (lock.type == F_WRLCK ? LOCK_EX : LOCK_SH) | LOCK_NB);
    } else {
      const struct flock range = range_of(lock);
      result = ::fcntl(fd, F_OFD_SETLK, &range);
    }
    if (result != 0) fail_errno("cannot lock {} again (descriptor {})", context.file(lock.file).path, fd);
  }
}

void plan_leases(const std::vector<cryo_lock>& locks, const std::map<std::uint32_t, int>& fds,
                 CallList& calls) {
  for (const cryo_lock& lock : locks) {
    const auto fd = fds.find(lock.file);
    if (fd != fds.end() && lock.kind == CRYO_LOCK_LEASE)
      calls.add(kFileLockStep, lock.file, SYS_fcntl, fd->second, F_SETLEASE, lock.type);
  }
}

namespace {

// By which such a lock can be taken: any open file of the same inode does.
std::optional<int> descriptor_for(const Context& context, const cryo_lock& lock,
                                  const std::map<std::uint32_t, int>& fds) {
  if (const auto fd = fds.find(lock.file); fd != fds.end()) return fd->second;
  const int useless = lock.type == F_WRLCK ? O_RDONLY : O_WRONLY;
  for (const auto& [id, fd] : fds) {
    const cryo_file& other = context.file(id).head;
    if (other.inode == context.file(lock.file).head.inode && (other.flags & O_PATH) == 0 &&
        static_cast<int>(other.flags & O_ACCMODE) != useless)
      return fd;
  }
  return {};
}

}  // namespace

void plan_process_locks(const Context& context, const std::vector<cryo_lock>& locks,
                        const std::map<std::uint32_t, int>& fds, CallList& calls, StubArea& area) {
  for (const cryo_lock& lock : locks) {
    if (lock.kind != CRYO_LOCK_POSIX) continue;
    const std::optional<int> fd = descriptor_for(context, lock, fds);
    if (!fd) continue;
    auto* range = area.array<struct flock>(1);
    *range = range_of(lock);
    calls.add(kFileLockStep, lock.file, SYS_fcntl, *fd, F_SETLK, range);
  }
}

}  // namespace cryo
