// SPDX-License-Identifier: GPL-2.0-only
#include "restart/created_paths.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/error.h"

namespace cryo {

DeathDeferred::DeathDeferred() : parent_(::getppid()) {
  if (::prctl(PR_SET_PDEATHSIG, 0) != 0) fail_errno("PR_SET_PDEATHSIG");
}

DeathDeferred::~DeathDeferred() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent_) ::_exit(stub::kFailureStatus);
}

std::vector<std::string> CreatedPaths::list() const {
  std::vector<std::string> paths;
  const char* const end = report_.paths + sizeof(report_.paths);
  for (const char* next = report_.paths; next < end && *next != '\0';) {
    paths.emplace_back(next, ::strnlen(next, static_cast<std::size_t>(end - next)));
    next += paths.back().size() + 1;
  }
  return paths;
}

void CreatedPaths::add(const std::string& path) {
  std::vector<std::string> paths = list();
  paths.push_back(path);
  store(paths);
}

void CreatedPaths::remove(const std::string& path) {
  std::vector<std::string> paths = list();
  paths.erase(std::remove(paths.begin(), paths.end(), path), paths.end());
  store(paths);
}

void CreatedPaths::store(const std::vector<std::string>& paths) {
  std::string joined;
  for (const std::string& path : paths) joined += path + '\0';
  if (joined.size() >= sizeof(report_.paths)) fail(ENOSPC, "more files to be made anew than can be tracked");
  std::memset(report_.paths, 0, sizeof(report_.paths));
  std::memcpy(report_.paths, joined.data(), joined.size());
}

}  // namespace cryo
