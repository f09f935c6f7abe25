// SPDX-License-Identifier: GPL-2.0-only
#include "restart/engine/own_children.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>

#include "restart/common/proc_files.h"

namespace cryo {
namespace {

constexpr int kAnyEnd = WEXITED | __WALL | WNOHANG;
// Of those with SIGCHLD as their exit signal, which all orphans get; others are known.
constexpr int kOrphansEnd = WEXITED | WNOHANG;
constexpr timespec kDying{0, 10000000};  // between checks

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, kAnyEnd | WNOWAIT) == 0;
}

// As long as it is, and has not been waited for, its number is not used again.
bool is_child(pid_t pid) {
  siginfo_t info{};
  return pid > 0 && ::waitid(P_PID, static_cast<id_t>(pid), &info, kAnyEnd | WNOWAIT) == 0;
}

// Of this thread, the only one that forks.
std::vector<pid_t> list_children() {
  const std::string text = read_proc("thread-self/children");
  std::vector<pid_t> pids;
  char* end = nullptr;
  for (const char* next = text.c_str(); *next != '\0'; next = end) {
    const long pid = std::strtol(next, &end, 10);
    if (end == next) break;
    if (pid > 0) pids.push_back(static_cast<pid_t>(pid));
  }
  return pids;
}

}  // namespace

OwnChildren::OwnChildren(const SharedReport& report) : report_(report), alone_(!has_children()) {}

std::vector<pid_t> OwnChildren::known() const {
  std::vector<pid_t> pids;
  for (const Place& place : report_.places())
    for (const std::int32_t* one : {&place.pid, &place.door})
      if (const pid_t pid = __atomic_load_n(one, __ATOMIC_ACQUIRE); pid > 0) pids.push_back(pid);
  // A number that one has had may be another one's.
  for (const Stray& stray : strays_of(report_.ledger())) pids.push_back(stray.pid);
  if (maker_ > 0 && !ended_.contains(maker_)) pids.push_back(maker_);
  return pids;
}

std::optional<siginfo_t> OwnChildren::take_ended() {
  siginfo_t info{};
  if (alone_) {
    // One check for all of them: there may be thousands, and this is done all the time.
    if (::waitid(P_ALL, 0, &info, kAnyEnd | WNOWAIT) != 0 || info.si_pid == 0) return {};
    // A guardian that has been killed is waited for by its owner; others may have ended behind it.
    const bool is_guardian = info.si_pid == guardian_;
    const int taken = is_guardian ? ::waitid(P_ALL, 0, &info, kOrphansEnd)
                                  : ::waitid(P_PID, static_cast<id_t>(info.si_pid), &info, kAnyEnd);
    if (taken == 0 && info.si_pid != 0) {
      ended_.insert(info.si_pid);
      return info;
    }
  }
  for (const pid_t pid : known()) {
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, kAnyEnd) != 0 || info.si_pid == 0) continue;
    ended_.insert(info.si_pid);
    return info;
  }
  return {};
}

// What a process of the job has forked without being asked for it is in no list: it is a child of ours when
// its parent has ended. Where we have other children that cannot be told from orphans of theirs.
std::vector<pid_t> OwnChildren::living() const {
  std::vector<pid_t> pids = alone_ ? list_children() : std::vector<pid_t>();
  std::erase(pids, guardian_);
  if (!pids.empty()) return pids;
  for (const pid_t pid : known())
    if (is_child(pid)) pids.push_back(pid);
  return pids;
}

bool OwnChildren::any_left() const {
  siginfo_t info{};
  if (alone_ && ::waitid(P_ALL, 0, &info, kOrphansEnd | WNOWAIT) == 0) return true;
  return !living().empty();
}

std::size_t OwnChildren::kill_all(std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const std::vector<pid_t> pids = living();
    for (const pid_t pid : pids) ::kill(pid, SIGKILL);
    while (take_ended()) continue;
    if (!any_left()) return 0;
    if (std::chrono::steady_clock::now() >= end) return std::max<std::size_t>(pids.size(), 1);
    ::nanosleep(&kDying, nullptr);
  }
}

}  // namespace cryo
