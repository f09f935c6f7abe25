// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/reader.h"

#include <cryo/ioctl.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "base/parse.h"

namespace cryo {
namespace {

// A shell that makes a pipeline has the end for a moment, too.
constexpr std::chrono::milliseconds kMoment{100};

std::vector<pid_t> numbers_of(const std::string& path) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path.c_str()), ::closedir);
  while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr)
    if (const auto number = parse_number<pid_t>(entry->d_name)) numbers.push_back(*number);
  return numbers;
}

std::string first_line(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

// Of what any process of the machine has open: no server of files is asked, who may never answer.
bool is_file(const std::string& name, const struct stat& wanted) {
  struct statx now {};
  return ::statx(AT_FDCWD, name.c_str(), AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &now) == 0 &&
         ::makedev(now.stx_dev_major, now.stx_dev_minor) == wanted.st_dev && now.stx_ino == wanted.st_ino;
}

bool reads(pid_t pid, const struct stat& pipe) {
  const std::string directory = fmt::format("/proc/{}/fd", pid);
  for (const int number : numbers_of(directory)) {
    const std::string name = fmt::format("{}/{}", directory, number);
    struct stat link;
    if (is_file(name, pipe) && ::lstat(name.c_str(), &link) == 0 && (link.st_mode & S_IRUSR) != 0)
      return true;
  }
  return false;
}

std::vector<pid_t> readers_of(const struct stat& pipe) {
  std::vector<pid_t> readers;
  for (const pid_t pid : numbers_of("/proc"))
    if (pid != ::getpid() && reads(pid, pipe)) readers.push_back(pid);
  return readers;
}

pid_t parent_pid(pid_t pid) {
  const std::string line = first_line(fmt::format("/proc/{}/stat", pid));
  const std::size_t end = line.rfind(')');
  // Behind the name there are the state and the parent.
  constexpr std::size_t kState = 4;
  if (end == std::string::npos || line.size() < end + kState) return 0;
  const std::string rest = line.substr(end + kState);
  return parse_number<pid_t>(rest.substr(0, rest.find(' '))).value_or(0);
}

bool descends_from(pid_t pid, pid_t ancestor) {
  for (; pid > 1 && pid != ancestor; pid = parent_pid(pid)) continue;
  return pid == ancestor;
}

bool is_in_group_of(pid_t pid, pid_t target) {
  const std::string group = first_line(fmt::format("/proc/{}/cgroup", target));
  const std::string own = first_line(fmt::format("/proc/{}/cgroup", pid));
  return !group.empty() && (own == group || own.starts_with(group.ends_with('/') ? group : group + '/'));
}

bool is_in_scope(pid_t pid, const Options& options) {
  const pid_t target = options.target;
  switch (options.scope) {
    case CRYO_SCOPE_PROCESS:
      return pid == target;
    case CRYO_SCOPE_PGRP:
      return ::getpgid(pid) == (target == 0 ? ::getpgrp() : target);
    case CRYO_SCOPE_SESSION:
      return ::getsid(pid) == (target == 0 ? ::getsid(0) : target);
    case CRYO_SCOPE_CGROUP:
      return is_in_group_of(pid, target);
    default:
      return descends_from(pid, target);
  }
}

// The first, if all of them are.
pid_t in_scope(const std::vector<pid_t>& readers, const Options& options) {
  for (const pid_t pid : readers)
    if (!is_in_scope(pid, options)) return 0;
  return readers.empty() ? 0 : readers.front();
}

}  // namespace

std::optional<PipeReader> reader_in_scope(int out, const Options& options) {
  struct stat pipe;
  if (::fstat(out, &pipe) != 0 || !S_ISFIFO(pipe.st_mode) || in_scope(readers_of(pipe), options) == 0)
    return {};
  std::this_thread::sleep_for(kMoment);
  const pid_t pid = in_scope(readers_of(pipe), options);
  if (pid == 0) return {};
  return PipeReader{pid, first_line(fmt::format("/proc/{}/comm", pid))};
}

}  // namespace cryo
