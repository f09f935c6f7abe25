// SPDX-License-Identifier: GPL-2.0-only
#include "restart/cgroups/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.h"
#include "context/mountinfo.h"
#include "restart/common/proc_files.h"
#include "restart/rights/credentials.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

bool g_reach_outer = false;

bool is_cgroup2(const std::string& path) {
  struct statfs system;
  return ::statfs(path.c_str(), &system) == 0 && system.f_type == CGROUP2_SUPER_MAGIC;
}

std::string own_cgroup() {
  const std::string lines = "\n" + read_proc("self/cgroup");
  const std::size_t at = lines.find("\n0::");
  return at == std::string::npos ? "" : lines.substr(at + 4, lines.find('\n', at + 1) - at - 4);
}

bool is_within(const std::string& path, const std::string& group) {
  return group == "/" || path == group || path.starts_with(group + "/");
}

enum class Reach {
  kNone,
  kOwn,     // with the caller's rights
  kRights,  // with those of the process
};

// The context names the group, and its limits end at its edge. What the kernel allows an ordinary user he
// could do anyhow; whoever may write to all groups would have a job leave the one that it is accounted to.
Reach reach_of(const std::string& path) {
  if ((path + "/").find("/../") != std::string::npos) return Reach::kNone;
  // The one that cr_restart was started in: the check has asked before any process was made, and moved.
  static const std::string started_in = own_cgroup();
  if (is_within(path, started_in) || (::geteuid() != 0 && !is_capable(CAP_DAC_OVERRIDE))) return Reach::kOwn;
  return g_reach_outer ? Reach::kRights : Reach::kNone;
}

// The kernel asks whether who moves a process may write to that file of the innermost group that has both,
// too.
std::string common_group(const std::string& one, const std::string& other) {
  std::string common = one;
  while (common.size() > 1 && !is_within(other, common))
    common.resize(std::max<std::size_t>(common.rfind('/'), 1));
  return common == "/" ? "" : common;
}

int may_write_to(const std::string& path, Reach reach) {
  return reach == Reach::kRights ? names::access(path, W_OK) : ::eaccess(path.c_str(), W_OK);
}

std::string way_obstacle(const std::string& path, Reach reach, bool made, const char* file = "cgroup.procs") {
  const std::string own = own_cgroup();
  if (path.empty() || path == own) return {};
  if (reach == Reach::kNone) return "it is outside of that one, and cr_restart is privileged";
  const std::string root = cgroup_mount();
  if (root.empty()) return "there are no control groups of version 2 here";
  if (!made && may_write_to(fmt::format("{}{}/{}", root, path, file), reach) != 0) return errno_text(errno);
  const std::string common = root + common_group(own, path) + "/cgroup.procs";
  if (own.starts_with("/..") || may_write_to(common, reach) == 0) return {};
  return fmt::format("a move from {} takes the right to write to {}: {}", own, common, errno_text(errno));
}

}  // namespace

std::string cgroup_mount() {
  for (const char* path : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
    if (is_cgroup2(path)) return path;
  const auto mounts = parse_mountinfo(read_proc("self/mountinfo"));
  if (!mounts) return {};
  for (const Mount& mount : *mounts)
    if (mount.type == "cgroup2" && mount.root == "/" && is_cgroup2(mount.point)) return mount.point;
  return {};
}

void reach_outer_cgroups() {
  g_reach_outer = true;
}

std::string cgroup_obstacle(const std::string& path) {
  const Reach reach = reach_of(path);
  return way_obstacle(path, reach == Reach::kRights ? Reach::kNone : reach, false);
}

std::string cgroup_obstacle(const Context& context, std::size_t process, bool made) {
  const NamesToCheck theirs(context, {process});
  const std::string& path = context.processes[process].cgroup;
  return way_obstacle(path, reach_of(path), made);
}

std::string cgroup_obstacle_of_threads(const Context& context, std::size_t process, const std::string& path,
                                       bool made) {
  const NamesToCheck theirs(context, {process});
  return way_obstacle(path, reach_of(path), made, "cgroup.threads");
}

std::vector<std::string> own_cgroups() {
  const std::string root = cgroup_mount();
  std::vector<std::string> groups;
  if (root.empty()) return groups;
  for (std::string path = own_cgroup(); path.size() > 1; path.resize(path.rfind('/')))
    groups.push_back(root + path);
  return groups;
}

namespace {

// Nothing that is mounted over it: what is written there is a number, which says something in any other file,
// too.
UniqueFd open_in_hierarchy(const std::string& path, const char* name) {
  const UniqueFd root(::open(cgroup_mount().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return UniqueFd();
  open_how how{};
  how.flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
  const std::string below = path.substr(path.find_first_not_of('/') == std::string::npos ? path.size() : 1);
  const std::string file = below.empty() ? name : below + "/" + name;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, root.get(), file.c_str(), &how, sizeof(how))));
}

bool is_in_hierarchy(int fd) {
  struct statfs system;
  return ::fstatfs(fd, &system) == 0 && system.f_type == CGROUP2_SUPER_MAGIC;
}

}  // namespace

void join_cgroup(const std::string& path) {
  if (path.empty() || path == own_cgroup() || reach_of(path) != Reach::kOwn) return;
  const UniqueFd procs = open_in_hierarchy(path, "cgroup.procs");
  if (procs) (void)!::write(procs.get(), "0", 1);
}

void join_cgroup(const Context& context, std::size_t process) {
  const cryo_namespaces& in = context.processes[process].namespaces;
  if (in.user != 0 || in.mnt != 0 || in.cgroup != 0) return;
  const std::string& path = context.processes[process].cgroup;
  if (path.empty() || path == own_cgroup()) return;
  const UniqueFd procs = open_cgroup_file(context, process, path, "cgroup.procs");
  if (procs) (void)!::write(procs.get(), "0", 1);
}

UniqueFd open_cgroup_file(const Context& context, std::size_t process, const std::string& path,
                          const char* name) {
  const std::string file = cgroup_mount() + path + "/" + name;
  switch (reach_of(path)) {
    case Reach::kOwn:
      return open_in_hierarchy(path, name);
    case Reach::kRights: {
      const NamesOf theirs(context, process);
      UniqueFd fd = names::open(file, O_WRONLY | O_NOFOLLOW);
      if (fd && !is_in_hierarchy(fd.get())) return errno = ESTALE, UniqueFd();
      return fd;
    }
    case Reach::kNone:
      break;
  }
  errno = EPERM;
  return UniqueFd();
}

}  // namespace cryo
