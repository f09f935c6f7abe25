// SPDX-License-Identifier: GPL-2.0-only
#include "restart/thread_fs.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "restart/descriptors.h"
#include "restart/files.h"
#include "restart/process_state.h"

namespace cryo {

using stub::Step;

ThreadDirectories::ThreadDirectories(const Process& process, const RestartOptions& options,
                                     const FileStore& store, std::uint64_t created_ns)
    : process_(process) {
  for (const Thread& thread : process.threads) {
    if (!thread.fs || thread.fs->head.same_as != thread.head.tid) continue;
    enter_directory({thread.fs->head.cwd, thread.fs->path}, options, store, created_ns);
    add(thread.head.tid, thread.fs->head.umask);
  }
}

void ThreadDirectories::note_own() {
  if (!empty()) add(0, process_.head.umask);
}

std::vector<int> ThreadDirectories::descriptors() const {
  std::vector<int> fds;
  for (const Directory& directory : directories_) fds.push_back(directory.fd.get());
  return fds;
}

void ThreadDirectories::add(std::int32_t owner, std::uint32_t umask) {
  UniqueFd here(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!here) fail_errno("thread {}: cannot open its working directory", owner);
  directories_.push_back({owner, Descriptors(process_).park(std::move(here)), umask & 07777});
}

std::int32_t ThreadDirectories::owner_of(std::uint32_t index) const {
  const Thread& thread = process_.threads[index];
  return thread.fs ? thread.fs->head.same_as : 0;
}

std::vector<std::uint32_t> ThreadDirectories::order() const {
  std::vector<std::uint32_t> order(process_.threads.size());
  std::iota(order.begin(), order.end(), 0);
  if (empty()) return order;
  // Tids are above 0: those that share the leader's come last.
  std::stable_sort(order.begin() + 1, order.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return owner_of(a) > owner_of(b); });
  return order;
}

void ThreadDirectories::plan_change(std::int32_t owner, CallList& calls) const {
  const auto directory = std::find_if(directories_.begin(), directories_.end(),
                                      [owner](const Directory& other) { return other.owner == owner; });
  const auto index = static_cast<std::uint32_t>(owner);
  calls.add(Step::kThreadDirectory, index, SYS_unshare, CLONE_FS);
  calls.add(Step::kThreadDirectory, index, SYS_fchdir, directory->fd.get());
  calls.add(Step::kThreadDirectory, index, SYS_umask, directory->umask);
}

void ThreadDirectories::plan_before(std::uint32_t index, std::uint32_t previous, CallList& calls) const {
  // The leader has its own to begin with: it must not take that away from the first who share it.
  const bool first = previous == 0;
  if (empty() || (!first && owner_of(index) == owner_of(previous))) return;
  if (first && owner_of(index) == 0) return;
  plan_change(owner_of(index), calls);
}

void ThreadDirectories::plan_after(std::uint32_t last, CallList& calls) const {
  if (!empty() && owner_of(last) != 0) plan_change(0, calls);
  for (const Directory& directory : directories_) calls.add(Step::kClose, 0, SYS_close, directory.fd.get());
}

}  // namespace cryo
