// SPDX-License-Identifier: GPL-2.0-only
#include "restart/process/root_directory.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "restart/common/helper_process.h"
#include "restart/ns/mounts.h"
#include "restart/rights/credentials.h"
#include "restart/rights/identity.h"
#include "restart/rights/names.h"
#include "restart/rights/thread_ids.h"

namespace cryo {
namespace {

Again again_of(const Root& root, const std::string& path, std::uint64_t created_ns) {
  return {path, O_PATH | O_DIRECTORY, root.head.dev, root.head.ino, S_IFDIR, {}, created_ns};
}

// Somebody else's, for all that can be told.
bool is_other(const Root& root, const RestartOptions& options, int fd) {
  return !options.relocations.covers(root.path) &&
         options.changed_files.value_or(ChangedFiles::kRefuse) == ChangedFiles::kRefuse &&
         identity_of(root.head, fd) == Identity::kOther;
}

// Empty: it can be opened, and is what it was.
std::string root_problem(const CheckInput& input, const Root& root, const std::string& path, int& code) {
  const std::uint64_t created_ns = input.context.header.created_ns;
  UniqueFd fd = names::open(path, O_PATH | O_DIRECTORY);
  code = errno;
  if (!fd && names::is_there(again_of(root, path, created_ns))) {
    const OwnNames own;
    fd = names::open(path, O_PATH | O_DIRECTORY);
    code = errno;
  }
  if (!fd)
    return fmt::format("cannot be opened: {} (--relocate=OLD=NEW if it is elsewhere now)", errno_text(code));
  if (!is_other(root, input.options, fd.get())) return {};
  code = ESTALE;
  return fmt::format(
      "is another directory than at the checkpoint: {} (--changed-files=warn if it is the right one)",
      difference_of(root.head, fd.get()));
}

void check_root(const CheckInput& input, const Thread& thread, Findings& findings) {
  const Root& root = *thread.root;
  const std::int32_t tid = thread.head.tid;
  const std::string path = input.options.relocations.apply(root.path);
  if (input.process.namespaces.user == 0 && !capable(input.own, CAP_SYS_CHROOT))
    findings.problem(EPERM,
                     "thread {}: its root directory {} requires CAP_SYS_CHROOT (chroot); restart it as root",
                     tid, path);
  const auto outside = outer_path(input.context, input.process.namespaces.mnt, path);
  if (!outside) return;
  const auto index = static_cast<std::size_t>(&input.process - input.context.processes.data());
  const NamesToCheck theirs(input.context, {index});
  int code = 0;
  if (const std::string text = root_problem(input, root, *outside, code); !text.empty())
    findings.problem(code, "thread {}: its root directory {} {}", tid, path, text);
}

}  // namespace

bool is_on_made_mount(const Process& process, const Root& root) {
  return process.namespaces.mnt != 0 && root.head.fs_magic == TMPFS_MAGIC;
}

UniqueFd open_root(const Root& root, const RestartOptions& options, std::uint64_t created_ns, bool made) {
  const std::string path = options.relocations.apply(root.path);
  UniqueFd fd = names::open_again(again_of(root, path, created_ns));
  if (!made && is_other(root, options, fd.get()))
    fail(ESTALE, "the root directory {} is another one than at the checkpoint: {}", path,
         difference_of(root.head, fd.get()));
  return fd;
}

void check_roots(const CheckInput& input, Findings& findings) {
  for (const Thread& thread : input.process.threads)
    if (thread.root) check_root(input, thread, findings);
}

std::string root_of_name(const Context& context, const Relocations& relocations, const std::string& path,
                         const std::string& inside) {
  for (const Process& process : context.processes)
    for (const Thread& thread : process.threads) {
      if (!thread.root || process.namespaces.mnt != 0) continue;
      std::string root = relocations.apply(thread.root->path);
      if (path == root + inside) return root;
    }
  return {};
}

void enter_root(const std::string& root) {
  const UniqueFd fd = names::open(root, O_PATH | O_DIRECTORY);
  std::optional<OwnNames> own;
  int result = fd ? ::fchdir(fd.get()) : -1;
  // Who has no capability may do it in a user namespace of his own, in which he has nobody else's rights.
  if (is_capable_of_nothing()) {
    own.emplace();
    if (result == 0 && !make_namespaces(CLONE_NEWUSER)) result = -1;
  }
  if (result != 0 || names::chroot_here() != 0)
    fail_errno("cannot make {} the root directory for a socket's name", root);
}

bool may_enter_root() {
  if (!is_capable_of_nothing()) return is_capable(CAP_SYS_CHROOT);
  // Tried once: limits, switches of distributions, security modules and filters of system calls may forbid
  // it.
  static const bool may = text_from_helper([]() -> std::string {
                            const OwnNames own;
                            return make_namespaces(CLONE_NEWUSER) && names::chroot_here() == 0 ? "yes" : "no";
                          }) == "yes";
  return may;
}

}  // namespace cryo
