// SPDX-License-Identifier: GPL-2.0-only
// Locks of the job that others hold by now, as /proc/locks tells: to try them would keep others from theirs.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <sstream>

#include "base/parse.h"
#include "restart/check.h"
#include "restart/files.h"
#include "restart/held_locks.h"
#include "restart/mounts.h"
#include "restart/names.h"
#include "restart/proc_files.h"

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
    if (kind != "FLOCK" && kind != "POSIX" && kind != "OFDLCK") continue;
    locks.push_back({kind == "FLOCK", type == "WRITE", pid, file, parse_number<std::uint64_t>(start).value_or(0),
                     end == "EOF" ? ~std::uint64_t{0} >> 1 : parse_number<std::uint64_t>(end).value_or(0)});
  }
  return locks;
}

bool in_the_way(const HeldLock& held, const cryo_lock& wanted) {
  if (wanted.kind == CRYO_LOCK_LEASE || held.whole_file != (wanted.kind == CRYO_LOCK_FLOCK)) return false;
  if (!held.exclusive && wanted.type != F_WRLCK) return false;
  return held.whole_file || (held.start <= wanted.end && wanted.start <= held.end);
}

namespace {

class LockChecker {
 public:
  LockChecker(const Context& context, const RestartOptions& options, Findings& findings)
      : context_(context), options_(options), findings_(findings), held_(parse_held_locks(read_proc("locks"))) {}

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

void LockChecker::check_lock(const Process& process, const cryo_lock& lock) const {
  const File& file = context_.file(lock.file);
  const std::optional<std::string> outer = outer_path(context_, file);
  if (file.head.kind != CRYO_FILE_PATH || !file.redirected.empty() || !outer) return;
  const std::string path = options_.relocations.apply(*outer);
  struct stat now;
  if (names::stat(path, now) != 0) return;
  const std::string name = fmt::format("{:02x}:{:02x}:{}", major(now.st_dev), minor(now.st_dev), now.st_ino);
  for (const HeldLock& held : held_)
    if (held.file == name && in_the_way(held, lock))
      return findings_.problem(EAGAIN, "pid {}: cannot lock {} again: {} holds a lock on it", process.head.pid, path,
                               holder_text(held.pid));
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
