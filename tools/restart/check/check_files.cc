// SPDX-License-Identifier: GPL-2.0-only
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "restart/check/check.h"
#include "restart/files/file_kinds.h"
#include "restart/files/redirect.h"
#include "restart/ns/mounts.h"

namespace cryo {
namespace {

class FileChecker {
 public:
  FileChecker(const Context& context, const RestartOptions& options, const Creds& own, Findings& findings)
      : at_(context, options, own, findings) {}

  void check();

 private:
  void check_owner(const File& file, const FileUse& use);
  void check_file(const File& file, const FileUse& use);
  void check_unused_output();
  void check_named_devices();
  void check_numbers(const Process& process);

  FileCheck at_;
};

std::string describe(const FileUse& use, const std::string& path) {
  if (!use.fds.empty()) return fmt::format("descriptor {} ({})", use.fds.front().fd, path);
  if (use.executable) return fmt::format("program {}", path);
  if (use.passed && !use.mapped) return fmt::format("file {} passed in a message", path);
  return fmt::format("mapped file {}", path);
}

// Somebody has just made it for the output of the job, to all appearance: cr_restart itself writes nothing
// there.
void FileChecker::check_unused_output() {
  struct stat now;
  if (!at_.standards[STDOUT_FILENO].open || at_.taken.contains(STDOUT_FILENO) ||
      ::fstat(STDOUT_FILENO, &now) != 0 || !S_ISREG(now.st_mode) || now.st_size != 0)
    return;
  for (const auto& [id, use] : at_.uses) {
    const File& file = at_.context.file(id);
    const bool has =
        std::any_of(use.fds.begin(), use.fds.end(), [](const cryo_fd& at) { return at.fd == STDOUT_FILENO; });
    if (!has || (file.head.kind != CRYO_FILE_PATH && file.head.kind != CRYO_FILE_CONTENTS)) continue;
    if (!S_ISREG(at_.context.inode(file.head.inode).head.mode)) continue;
    return at_.findings.warning(
        "pid {}: descriptor 1 ({}): continues to write there, not to standard output of cr_restart "
        "(--redirect 1=FILE gives it "
        "another file)",
        at_.context.processes[use.process].head.pid, at_.options.relocations.apply(file.path));
  }
}

// As of a descriptor that --redirect names.
void FileChecker::check_named_devices() {
  for (const auto& named : at_.options.devices) {
    const bool has = std::any_of(at_.uses.begin(), at_.uses.end(), [&](const auto& use) {
      const File& file = at_.context.file(use.first);
      return file.path == named.first && file.head.inode != 0 &&
             (S_ISCHR(at_.context.inode(file.head.inode).head.mode) ||
              S_ISBLK(at_.context.inode(file.head.inode).head.mode));
    });
    if (!has)
      at_.findings.problem(EINVAL, "--device {}: no process of the context has that device open",
                           named.first);
  }
}

// The numbers must be possible; so must a few more, for the restart itself.
void FileChecker::check_numbers(const Process& process) {
  rlimit limit;
  if (process.fds.empty() || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  std::uint64_t allowed = limit.rlim_max;
  if (process.rlimits.size() > RLIMIT_NOFILE)
    allowed = std::max<std::uint64_t>(allowed, process.rlimits[RLIMIT_NOFILE].max);
  const std::uint32_t highest = process.fds.back().fd;
  if (highest >= allowed)
    at_.findings.problem(EMFILE, "pid {}: its descriptor {} is above the hard limit of open files ({})",
                         process.head.pid, highest, allowed);
}

// With the rights of who had set it, which are not to grow.
void FileChecker::check_owner(const File& file, const FileUse& use) {
  if (file.head.owner_pid == 0 || owner_setter(at_.context, file, use.processes)) return;
  at_.findings.warning(
      "pid {}: descriptor {} ({}): its I/O signal owner (F_SETOWN) was set by user {}, as whom no process "
      "with this descriptor runs: no owner is set",
      at_.context.processes[use.process].head.pid,
      use.fds.empty() ? -1 : static_cast<int>(use.fds.front().fd), file.path, file.head.owner_euid);
}

void FileChecker::check_file(const File& file, const FileUse& use) {
  const FileKind* kind = file_kind(file.head.kind);
  if (kind == nullptr)
    at_.problem(EOPNOTSUPP, "is of a kind that this cr_restart does not know ({})", file.head.kind);
  else if (kind->check != nullptr)
    kind->check(at_, file, use);
}

void FileChecker::check() {
  for (const Process& process : at_.context.processes) check_numbers(process);
  for (const auto& [id, use] : at_.uses) {
    const File& file = at_.context.file(id);
    at_.pid = at_.context.processes[use.process].head.pid;
    const std::optional<std::string> outer = outer_path(at_.context, at_.options.relocations, file);
    if (!outer) continue;  // found out when its mount namespace is there
    at_.path = *outer;
    at_.what = describe(use, at_.path);
    const NamesToCheck theirs(at_.context, use.processes, file);
    check_owner(file, use);
    if (!file.redirected.empty())
      check_redirected(file, use, at_.pid, at_.findings);
    else
      check_file(file, use);
  }
  check_unused_output();
  check_named_devices();
}

}  // namespace

void check_files(const Context& context, const RestartOptions& options, const Creds& own,
                 Findings& findings) {
  FileChecker(context, options, own, findings).check();
}

}  // namespace cryo
