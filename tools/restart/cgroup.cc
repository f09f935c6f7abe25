// SPDX-License-Identifier: GPL-2.0-only
#include "restart/cgroup.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/unique_fd.h"
#include "restart/proc_files.h"

namespace cryo {
namespace {

// Of the unified hierarchy, alone or beside the old ones; empty: not mounted.
std::string mount_point() {
  for (const char* path : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    struct statfs system;
    if (::statfs(path, &system) == 0 && system.f_type == CGROUP2_SUPER_MAGIC) return path;
  }
  return {};
}

std::string own_cgroup() {
  std::istringstream file(read_proc("self/cgroup"));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::")) return line.substr(3);
  return {};
}

}  // namespace

std::string cgroup_obstacle(const std::string& path) {
  if (path.empty() || path == own_cgroup()) return {};
  const std::string root = mount_point();
  if (root.empty()) return "there are no control groups of version 2 here";
  const std::string procs = root + path + "/cgroup.procs";
  return ::eaccess(procs.c_str(), W_OK) == 0 ? "" : std::strerror(errno);
}

void join_cgroup(const std::string& path) {
  if (path.empty() || path == own_cgroup()) return;
  const UniqueFd procs(::open((mount_point() + path + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (procs) (void)!::write(procs.get(), "0", 1);
}

}  // namespace cryo
