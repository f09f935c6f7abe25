// SPDX-License-Identifier: GPL-2.0-only
#include "restart/created_paths.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/error.h"
#include "restart/mqueue.h"
#include "restart/shared_report.h"
#include "restart/sysv.h"

namespace cryo {

// Either this sees that all is being ended, or end() sees this.
DeathDeferred::DeathDeferred(CreatedPaths& created) : report_(created.report_), parent_(::getppid()) {
  if (::prctl(PR_SET_PDEATHSIG, 0) != 0) fail_errno("PR_SET_PDEATHSIG");
  __atomic_add_fetch(&report_.deferring, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&report_.ending, __ATOMIC_SEQ_CST) == 0) return;
  __atomic_sub_fetch(&report_.deferring, 1, __ATOMIC_SEQ_CST);
  ::_exit(stub::kFailureStatus);
}

DeathDeferred::~DeathDeferred() {
  __atomic_sub_fetch(&report_.deferring, 1, __ATOMIC_SEQ_CST);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent_) ::_exit(stub::kFailureStatus);
}

namespace {

constexpr timespec kPause{0, 1000000};
constexpr int kPauses = 5000;      // then whoever it was has been killed by others, or has been stopped
constexpr char kRemoved = '\x01';  // in place of an entry's first byte; no path or tag begins with it

void take_away(const std::string& path) {
  if (!remove_sysv(path) && !remove_queue(path)) std::remove(path.c_str());
}

char* find(stub::Report& report, const std::string& path) {
  char* const end = report.paths + report.paths_len;
  for (char* next = report.paths; next < end; next += std::strlen(next) + 1)
    if (path == next) return next;
  return nullptr;
}

}  // namespace

std::vector<std::string> CreatedPaths::list() const {
  std::vector<std::string> paths;
  const std::size_t used =
      std::min<std::size_t>(__atomic_load_n(&report_.paths_len, __ATOMIC_ACQUIRE), sizeof(report_.paths));
  const char* const end = report_.paths + used;
  for (const char* next = report_.paths; next < end;) {
    const std::size_t length = ::strnlen(next, static_cast<std::size_t>(end - next));
    if (*next != kRemoved) paths.emplace_back(next, length);
    next += length + 1;
  }
  return paths;
}

void CreatedPaths::add(const std::string& path) {
  const ReportLock lock(report_);
  if (path.size() >= sizeof(report_.paths) - report_.paths_len) {
    take_away(path);
    fail(ENOSPC, "more files to be made anew than can be tracked");
  }
  std::memcpy(report_.paths + report_.paths_len, path.c_str(), path.size() + 1);
  const auto used = static_cast<std::uint32_t>(report_.paths_len + path.size() + 1);
  __atomic_store_n(&report_.paths_len, used, __ATOMIC_RELEASE);
}

void CreatedPaths::remove(const std::string& path) {
  const ReportLock lock(report_);
  char* const entry = find(report_, path);
  if (entry == nullptr) return;
  // Most are there for a moment only, and the last.
  const auto start = static_cast<std::uint32_t>(entry - report_.paths);
  if (start + path.size() + 1 == report_.paths_len)
    __atomic_store_n(&report_.paths_len, start, __ATOMIC_RELEASE);
  else
    *entry = kRemoved;
}

void CreatedPaths::remove_all() const {
  const std::vector<std::string> created = list();
  for (auto path = created.rbegin(); path != created.rend(); ++path) take_away(*path);
}

void CreatedPaths::end() const {
  __atomic_store_n(&report_.ending, 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < kPauses && __atomic_load_n(&report_.deferring, __ATOMIC_SEQ_CST) != 0; ++i)
    ::nanosleep(&kPause, nullptr);
}

}  // namespace cryo
