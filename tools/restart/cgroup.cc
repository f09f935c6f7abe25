// SPDX-License-Identifier: GPL-2.0-only
#include "restart/cgroup.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/unique_fd.h"
#include "restart/credentials.h"
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
  const std::string lines = "\n" + read_proc("self/cgroup");
  const std::size_t at = lines.find("\n0::");
  return at == std::string::npos ? "" : lines.substr(at + 4, lines.find('\n', at + 1) - at - 4);
}

bool is_within(const std::string& path, const std::string& group) {
  return group == "/" || path == group || path.starts_with(group + "/");
}

// The context names the group, and its limits end at its edge. What the kernel allows an ordinary user he could do anyhow; whoever
// may write to all groups would have a job leave the one that it is accounted to.
bool is_forbidden(const std::string& path) {
  if ((path + "/").find("/../") != std::string::npos) return true;
  // The one that cr_restart was started in: the check has asked before any process was made, and moved.
  static const std::string started_in = own_cgroup();
  return (::geteuid() == 0 || is_capable(CAP_DAC_OVERRIDE)) && !is_within(path, started_in);
}

}  // namespace

std::string cgroup_obstacle(const std::string& path) {
  if (path.empty() || path == own_cgroup()) return {};
  if (is_forbidden(path)) return "it is outside of that one, and cr_restart is privileged";
  const std::string root = mount_point();
  if (root.empty()) return "there are no control groups of version 2 here";
  const std::string procs = root + path + "/cgroup.procs";
  return ::eaccess(procs.c_str(), W_OK) == 0 ? "" : std::strerror(errno);
}

std::vector<std::string> own_cgroups() {
  const std::string root = mount_point();
  std::vector<std::string> groups;
  if (root.empty()) return groups;
  for (std::string path = own_cgroup(); path.size() > 1; path.resize(path.rfind('/'))) groups.push_back(root + path);
  return groups;
}

void join_cgroup(const std::string& path) {
  if (path.empty() || path == own_cgroup() || is_forbidden(path)) return;
  const UniqueFd procs(::open((mount_point() + path + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (procs) (void)!::write(procs.get(), "0", 1);
}

}  // namespace cryo
