// SPDX-License-Identifier: GPL-2.0-only
#include "restart/common/descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <memory>

#include "base/error.h"
#include "base/parse.h"
#include "restart/common/proc_files.h"

namespace cryo {
namespace {

std::vector<int> open_descriptors() {
  UniqueFd fd = open_proc("self/fd", O_RDONLY | O_DIRECTORY);
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(fd.get()), ::closedir);
  if (!dir) fail_errno("cannot read /proc/self/fd");
  (void)fd.release();
  std::vector<int> result;
  while (const dirent* entry = ::readdir(dir.get())) {
    const auto number = parse_number<int>(entry->d_name);
    if (number && *number != ::dirfd(dir.get())) result.push_back(*number);
  }
  return result;
}

// From `first` to `last`.
bool close_all(int first, int last) {
  if (first > last) return true;
  return ::syscall(SYS_close_range, static_cast<unsigned>(first), static_cast<unsigned>(last), 0) == 0;
}

}  // namespace

Descriptors::Descriptors(const Context& context) {
  for (const Process& process : context.processes) want(process);
}

void Descriptors::want(const Process& process) {
  for (const cryo_fd& fd : process.fds) {
    wanted_.insert(static_cast<int>(fd.fd));
    above_ = std::max(above_, static_cast<int>(fd.fd) + 1);
  }
}

UniqueFd Descriptors::park_copy(int fd) const {
  const int number = ::fcntl(fd, F_DUPFD_CLOEXEC, above_);
  if (number >= 0) return UniqueFd(number);
  // The process uses numbers up to the limit: look for a gap.
  for (int gap = 3; gap < above_; ++gap) {
    if (wanted_.contains(gap) || ::fcntl(gap, F_GETFD) >= 0) continue;
    if (::dup3(fd, gap, O_CLOEXEC) == gap) return UniqueFd(gap);
  }
  fail(EMFILE, "no descriptor number is left for the restart itself (limit of open files, RLIMIT_NOFILE)");
}

UniqueFd Descriptors::park(UniqueFd fd) const {
  return park_copy(fd.get());
}

void Descriptors::close_others(const std::set<int>& keep, bool keep_wanted) const {
  std::set<int> kept = keep;
  if (keep_wanted) kept.insert(wanted_.begin(), wanted_.end());
  int from = 0;
  for (const int fd : kept) {
    if (!close_all(from, fd - 1)) break;
    from = fd + 1;
  }
  if (close_all(from, INT_MAX)) return;
  // A system that does not let us.
  for (const int fd : open_descriptors()) {
    if (keep.contains(fd) || (keep_wanted && wanted_.contains(fd))) continue;
    ::close(fd);
  }
}

}  // namespace cryo
