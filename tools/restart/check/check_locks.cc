// SPDX-License-Identifier: GPL-2.0-only
// Locks of the job that others hold by now, as /proc/locks tells: to try them would keep others from theirs.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdio>
#include <cstring>
#include <sstream>

#include "base/error.h"
#include "base/parse.h"
#include "context/mountinfo.h"
#include "restart/check/check.h"
#include "restart/common/helper_process.h"
#include "restart/common/proc_files.h"
#include "restart/files/files.h"
#include "restart/files/held_locks.h"
#include "restart/ns/mounts.h"
#include "restart/rights/names.h"

namespace cryo {

std::vector<HeldLock> parse_held_locks(const std::string& text) {
  std::vector<HeldLock> locks;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, kind, way, type, file, start, end;
    std::int32_t pid = 0;
    // Who waits for one has "->" in place of its kind, and so no file.
    if (!(words >> number >> kind >> way >> type >> pid >> file >> start >> end)) continue;
    const bool lease = kind == "LEASE";
    if (!lease && kind != "FLOCK" && kind != "POSIX" && kind != "OFDLCK") continue;
    locks.push_back({lease, lease || kind == "FLOCK", type == "WRITE", pid, file,
                     parse_number<std::uint64_t>(start).value_or(0),
                     end == "EOF" ? ~std::uint64_t{0} >> 1 : parse_number<std::uint64_t>(end).value_or(0)});
  }
  return locks;
}

bool in_the_way(const HeldLock& held, const cryo_lock& wanted) {
  if (held.lease != (wanted.kind == CRYO_LOCK_LEASE)) return false;
  if (!held.lease && held.whole_file != (wanted.kind == CRYO_LOCK_FLOCK)) return false;
  if (!held.exclusive && wanted.type != F_WRLCK) return false;
  return held.whole_file || (held.start <= wanted.end && wanted.start <= held.end);
}

namespace {

class LockChecker {
 public:
  LockChecker(const Context& context, const RestartOptions& options, Findings& findings)
      : context_(context),
        options_(options),
        findings_(findings),
        held_(parse_held_locks(read_proc("locks"))) {}

  void check(std::size_t index) const;

 private:
  void check_lock(const Process& process, const cryo_lock& lock) const;

  const Context& context_;
  const RestartOptions& options_;
  Findings& findings_;
  const std::vector<HeldLock> held_;
};

std::string holder_text(std::int32_t pid) {
  if (pid <= 0) return "another process";
  const std::string command = read_proc(fmt::format("{}/comm", pid));
  return fmt::format("process {} ({})", pid, command.substr(0, command.find('\n')));
}

std::string number_of(unsigned its_major, unsigned its_minor, std::uint64_t inode) {
  return fmt::format("{:02x}:{:02x}:{}", its_major, its_minor, inode);
}

// As /proc/locks has it: by the number of the file system, which is not always that of stat(2) (btrfs,
// overlayfs).
bool is_of(const HeldLock& held, const std::string& path, const struct stat& now) {
  if (held.file == number_of(major(now.st_dev), minor(now.st_dev), now.st_ino)) return true;
  if (!held.file.ends_with(fmt::format(":{}", now.st_ino))) return false;
  const UniqueFd place = names::open(path, O_PATH);
  struct ::statx more {};
  if (!place || !names::look(place.get(), more) || !(more.stx_mask & STATX_MNT_ID)) return false;
  const auto mounts = parse_mountinfo(read_proc("self/mountinfo"));
  if (!mounts) return false;
  unsigned its_major = 0, its_minor = 0;
  for (const Mount& mount : *mounts)
    if (mount.id == more.stx_mnt_id &&
        std::sscanf(mount.device.c_str(), "%u:%u", &its_major, &its_minor) == 2)
      return held.file == number_of(its_major, its_minor, now.st_ino);
  return false;
}

// Why the kernel gives no such lease now; empty: it does.  One that is given is back at once; who opens the
// file meanwhile waits for a moment, and the signal for that is ignored.
std::string lease_problem(const std::string& path, int access, int type) {
  return text_from_helper([&]() -> std::string {
    const UniqueFd file = names::open(path, (access == O_WRONLY ? O_WRONLY : O_RDONLY) | O_NONBLOCK);
    if (!file) return {};  // told as a problem of the file
    (void)::signal(SIGIO, SIG_IGN);
    if (names::set_lease(file.get(), type) == 0)
      return ::fcntl(file.get(), F_SETLEASE, F_UNLCK), std::string();
    return errno == EAGAIN ? "another process has it open" : errno_text(errno);
  });
}

void LockChecker::check_lock(const Process& process, const cryo_lock& lock) const {
  const File& file = context_.file(lock.file);
  const std::optional<std::string> outer = outer_path(context_, options_.relocations, file);
  if (file.head.kind != CRYO_FILE_PATH || !file.redirected.empty() || !outer) return;
  const std::string& path = *outer;
  struct stat now;
  if (names::stat(path, now) != 0) return;
  for (const HeldLock& held : held_)
    if (in_the_way(held, lock) && is_of(held, path, now))
      return findings_.problem(EAGAIN, "pid {}: cannot lock {} again: {} holds a lock on it",
                               process.head.pid, path, holder_text(held.pid));
  if (lock.kind != CRYO_LOCK_LEASE || !S_ISREG(now.st_mode)) return;
  if (const std::string why =
          lease_problem(path, static_cast<int>(file.head.flags & O_ACCMODE), static_cast<int>(lock.type));
      !why.empty())
    findings_.problem(EAGAIN, "pid {}: cannot take its lease of {} again: {}", process.head.pid, path, why);
}

void LockChecker::check(std::size_t index) const {
  const NamesToCheck theirs(context_, {index});
  const Process& process = context_.processes[index];
  for (const cryo_lock& lock : process.locks) check_lock(process, lock);
}

}  // namespace

void check_locks(const Context& context, const RestartOptions& options, Findings& findings) {
  const LockChecker checker(context, options, findings);
  for (std::size_t i = 0; i < context.processes.size(); ++i)
    if (!context.processes[i].locks.empty()) checker.check(i);
}

}  // namespace cryo
