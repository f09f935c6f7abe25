// SPDX-License-Identifier: GPL-2.0-only
#include "restart/common/id_holder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace cryo {
namespace {

struct Holder {
  pid_t pid = 0;  // 0: nobody is to be seen, or nobody any more
  std::string text;
};

// Of /proc/PID/stat, what proc(5) says is behind the command.
struct Status {
  char state = '?';
  pid_t parent = 0;
  bool leaving = false;
};

// Of a process, thread, group or session: an owner of signals can be any id that the kernel knows.
bool is_known(pid_t id) {
  const UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return file && ::fcntl(file.get(), F_SETOWN, id) == 0;
}

std::string command_of(pid_t pid) {
  std::string comm;
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", pid)), comm);
  return comm;
}

std::vector<pid_t> numbers_in(const std::string& directory) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(directory.c_str()), ::closedir);
  while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr)
    if (const long number = std::strtol(entry->d_name, nullptr, 10); number > 0)
      numbers.push_back(static_cast<pid_t>(number));
  return numbers;
}

std::optional<Status> status_of(const std::string& file) {
  constexpr std::size_t kParent = 1, kFlags = 6, kPending = 28;
  constexpr unsigned long kExiting = 0x4;  // PF_EXITING of <linux/sched.h>
  std::string line;
  std::getline(std::ifstream(file), line);
  const std::size_t end = line.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream words(line.substr(end + 1));
  const std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
  if (fields.size() <= kPending) return std::nullopt;
  Status status{fields.front()[0], static_cast<pid_t>(std::stol(fields[kParent])), false};
  status.leaving = status.state == 'Z' || status.state == 'X' || std::stoul(fields[kFlags]) & kExiting ||
                   std::stoul(fields[kPending]) >> (SIGKILL - 1) & 1;
  return status;
}

}  // namespace

bool is_leaving(pid_t pid) {
  const std::string directory = fmt::format("/proc/{}/task", pid);
  const auto threads = numbers_in(directory);
  if (threads.empty()) return !id_exists(pid);
  return std::all_of(threads.begin(), threads.end(), [&](pid_t thread) {
    const auto status = status_of(fmt::format("{}/{}/stat", directory, thread));
    return !status || status->leaving;
  });
}

namespace {

// One of those that are in the group or session.
Holder member_of(pid_t id, pid_t (*whose)(pid_t), const char* what) {
  for (const pid_t pid : numbers_in("/proc"))
    if (whose(pid) == id) return {pid, fmt::format("the {} of pid {} ({})", what, pid, command_of(pid))};
  return {0, fmt::format("the {}", what)};
}

std::string process_text(pid_t pid) {
  const std::string comm = command_of(pid);
  if (comm.empty()) return "another process";
  const auto status = status_of(fmt::format("/proc/{}/stat", pid));
  if (!status || status->state != 'Z' || !is_leaving(pid)) return comm;
  return fmt::format("{}, which has ended, but pid {} ({}) has not waited for it", comm, status->parent,
                     command_of(status->parent));
}

std::optional<Holder> find_holder(pid_t id) {
  if (id == ::getpid()) return Holder{id, "cr_restart itself"};
  if (id_exists(id)) return Holder{id, process_text(id)};
  if (id_exists(-id)) return member_of(id, ::getpgid, "process group");
  if (is_known(id)) return member_of(id, ::getsid, "session");
  return std::nullopt;
}

}  // namespace

bool id_exists(pid_t id) {
  return ::kill(id, 0) == 0 || errno == EPERM;
}

bool is_group_of_own_session(pid_t group) {
  if (!id_exists(-group)) return false;
  const auto pids = numbers_in("/proc");
  const auto member =
      std::find_if(pids.begin(), pids.end(), [group](pid_t pid) { return ::getpgid(pid) == group; });
  return member != pids.end() && ::getsid(*member) == ::getsid(0);
}

std::string other_in_own_group() {
  if (::getpgrp() == 0) return {};  // of an outer pid namespace
  for (const pid_t pid : numbers_in("/proc"))
    if (pid != ::getpid() && ::getpgid(pid) == ::getpgrp() && !is_leaving(pid))
      return fmt::format("pid {} ({})", pid, command_of(pid));
  return {};
}

IdHolders::IdHolders(std::chrono::milliseconds patience)
    : end_(std::chrono::steady_clock::now() + patience) {}

std::string IdHolders::find(pid_t id) const {
  constexpr std::chrono::milliseconds kLap{5};
  for (;;) {
    const auto holder = find_holder(id);
    if (!holder) return "";
    const bool stays = holder->pid != 0 && !is_leaving(holder->pid);
    if (stays || std::chrono::steady_clock::now() > end_) return holder->text;
    std::this_thread::sleep_for(kLap);
  }
}

}  // namespace cryo
