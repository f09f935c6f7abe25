// SPDX-License-Identifier: GPL-2.0-only
#include "restart/threads/thread_fs.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "restart/common/descriptors.h"
#include "restart/files/files.h"
#include "restart/process/root_directory.h"
#include "restart/rights/names.h"
#include "restart/stub/step_kind.h"

namespace cryo {
namespace {

void enter_directory(const Path& cwd, const TreeOf& tree, const RestartOptions& options,
                     const FileStore& store, std::uint64_t created_ns) {
  const std::string path = options.relocations.apply(cwd.path);
  if (cwd.head.flags & CRYO_PATH_DELETED) {
    const UniqueFd& directory = store.directories.at({tree, cwd.head.dev, cwd.head.ino});
    if (::fchdir(directory.get()) != 0) fail_errno("cannot change to the removed directory {}", path);
    return;
  }
  names::enter({path, O_PATH, cwd.head.dev, cwd.head.ino, S_IFDIR, {}, created_ns});
}

std::string directory_failure(bool root, const FailedCall& call) {
  if (call.index != 0)
    return fmt::format("cannot give thread {} a {} directory of its own", call.index,
                       root ? "root" : "working");
  return root ? "cannot change its root directory" : "cannot return to its working directory";
}

const StepKind kRootStep("change a root directory",
                         [](const FailedCall& call) { return directory_failure(true, call); });
const StepKind kThreadDirectoryStep("change a working directory",
                                    [](const FailedCall& call) { return directory_failure(false, call); });

}  // namespace

void restore_cwd(const Process& process, const RestartOptions& options, const FileStore& store,
                 std::uint64_t created_ns) {
  enter_directory(*process.cwd, tree_of(options, process, process.threads.front()), options, store,
                  created_ns);
}

ThreadDirectories::ThreadDirectories(const Process& process, const RestartOptions& options,
                                     const FileStore& store, std::uint64_t created_ns)
    : process_(process), other_roots_(std::ranges::any_of(process.threads, [](const Thread& thread) {
        return thread.root.has_value();
      })) {
  for (const Thread& thread : process.threads) {
    if (!thread.fs || thread.fs->head.same_as != thread.head.tid) continue;
    enter_directory({thread.fs->head.cwd, thread.fs->path}, tree_of(options, process_, thread), options,
                    store, created_ns);
    add(thread.head.tid, thread.fs->head.umask, root_of(thread, options, created_ns));
  }
}

void ThreadDirectories::note_own(const RestartOptions& options, std::uint64_t created_ns) {
  if (!empty() || other_roots_)
    add(0, process_.head.umask, root_of(process_.threads.front(), options, created_ns));
}

// As the caller sees it, who has the usual one.
UniqueFd ThreadDirectories::root_of(const Thread& thread, const RestartOptions& options,
                                    std::uint64_t created_ns) const {
  if (thread.root)
    return open_root(*thread.root, options, created_ns, is_on_made_mount(process_, *thread.root));
  if (!other_roots_) return {};
  UniqueFd fd = names::open("/", O_PATH | O_DIRECTORY);
  if (!fd) fail_errno("cannot open the root directory");
  return fd;
}

std::vector<int> ThreadDirectories::descriptors() const {
  std::vector<int> fds;
  for (const Directory& directory : directories_) {
    fds.push_back(directory.fd.get());
    if (directory.root) fds.push_back(directory.root.get());
  }
  return fds;
}

void ThreadDirectories::add(std::int32_t owner, std::uint32_t umask, UniqueFd root) {
  UniqueFd here(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!here) fail_errno("thread {}: cannot open its working directory", owner);
  const Descriptors own(process_);
  if (root) root = own.park(std::move(root));
  directories_.push_back({owner, own.park(std::move(here)), std::move(root), umask & 07777});
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

void ThreadDirectories::plan_change(std::int32_t owner, CallList& calls, StubArea& area) const {
  calls.add(kThreadDirectoryStep, static_cast<std::uint32_t>(owner), SYS_unshare, CLONE_FS);
  plan_directories(owner, calls, area);
}

// The working directory may lie outside of the root directory: a descriptor leads there all the same.
void ThreadDirectories::plan_directories(std::int32_t owner, CallList& calls, StubArea& area) const {
  const auto directory = std::find_if(directories_.begin(), directories_.end(),
                                      [owner](const Directory& other) { return other.owner == owner; });
  const auto index = static_cast<std::uint32_t>(owner);
  if (directory->root) {
    char* const here = area.array<char>(2);
    here[0] = '.';
    calls.add(kRootStep, index, SYS_fchdir, directory->root.get());
    calls.add(kRootStep, index, SYS_chroot, here);
  }
  calls.add(kThreadDirectoryStep, index, SYS_fchdir, directory->fd.get());
  calls.add(kThreadDirectoryStep, index, SYS_umask, directory->umask);
}

void ThreadDirectories::plan_before(std::uint32_t index, std::uint32_t previous, CallList& calls,
                                    StubArea& area) const {
  // The leader has its own to begin with: it must not take that away from the first who share it.
  const bool first = previous == 0;
  if (empty() || (!first && owner_of(index) == owner_of(previous))) return;
  if (first && owner_of(index) == 0) return;
  plan_change(owner_of(index), calls, area);
}

void ThreadDirectories::plan_after(std::uint32_t last, CallList& calls, StubArea& area) const {
  if (!empty() && owner_of(last) != 0)
    plan_change(0, calls, area);
  else if (other_roots_)
    plan_directories(0, calls, area);  // perhaps once more, for all who share it
  for (const Directory& directory : directories_) {
    calls.add(kCloseStep, 0, SYS_close, directory.fd.get());
    if (directory.root) calls.add(kCloseStep, 0, SYS_close, directory.root.get());
  }
}

}  // namespace cryo
