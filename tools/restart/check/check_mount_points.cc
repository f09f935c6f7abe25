// SPDX-License-Identifier: GPL-2.0-only
// Whether there still is something to mount on, and what is to be bound: a mount namespace of the job becomes
// a copy of that of cr_restart, so most of its mount points are directories of the machine.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/error.h"
#include "context/mountinfo.h"
#include "restart/common/proc_files.h"
#include "restart/ns/mounts.h"
#include "restart/ns/namespaces.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

class MountPointChecker {
 public:
  MountPointChecker(const MountsToBuild& wanted, const std::vector<Mount>& now, Findings& findings)
      : tree_(wanted.tree), begins_empty_(wanted.changes_root), findings_(findings) {
    for (const Mount& mount : now) now_.emplace(mount.point, &mount);
    for (std::size_t i = 0; i < tree_.mounts.size(); ++i) by_id_.emplace(tree_.mounts[i].id, i);
  }

  void check();

 private:
  [[nodiscard]] bool is_there_already(const Mount& mount) const;
  [[nodiscard]] std::optional<std::string> outer_point(std::size_t mount) const;
  [[nodiscard]] bool is_hidden(const std::string& path, const std::string& top) const;
  [[nodiscard]] std::string link_on_the_way(const std::string& path);
  [[nodiscard]] std::optional<bool> source_is_directory(std::size_t mount);
  void report_kinds(std::size_t mount, const std::string& point, bool directory);
  void check_one(std::size_t mount);

  const MountTree& tree_;
  const bool begins_empty_;                       // with nothing of cr_restart's but a new root directory
  std::multimap<std::string, const Mount*> now_;  // cr_restart's, by point
  std::map<std::uint32_t, std::size_t> by_id_;    // the job's
  Findings& findings_;
  std::set<std::string> no_links_;
};

// Nothing is done then but to change its options.
bool MountPointChecker::is_there_already(const Mount& mount) const {
  if (begins_empty_) return false;
  const auto [first, last] = now_.equal_range(mount.point);
  return std::any_of(first, last, [&](const auto& other) {
    return other.second->type == mount.type && other.second->root == mount.root &&
           other.second->device == mount.device;
  });
}

// Where cr_restart finds the mount point; nothing: it comes into being with the mount that it is in.
std::optional<std::string> MountPointChecker::outer_point(std::size_t mount) const {
  const auto parent = by_id_.find(tree_.mounts[mount].parent);
  if (parent == by_id_.end() || parent->second == mount ||
      tree_.kinds[parent->second].kind != CRYO_MOUNT_BIND)
    return {};
  const Mount& below = tree_.mounts[parent->second];
  const auto top = source_path(tree_.outer, below);
  if (!top || !lies_below(tree_.mounts[mount].point, below.point)) return {};
  const std::string rest =
      below.point == "/" ? tree_.mounts[mount].point : tree_.mounts[mount].point.substr(below.point.size());
  std::string path = *top == "/" ? rest : *top + rest;
  if (path.empty() || is_hidden(path, *top)) return {};
  return path;
}

// By what is mounted for cr_restart between the two, which the job does not have there.
bool MountPointChecker::is_hidden(const std::string& path, const std::string& top) const {
  for (std::size_t end = path.find('/', top.size() + 1);; end = path.find('/', end + 1)) {
    if (now_.contains(path.substr(0, end))) return true;
    if (end == std::string::npos) return false;
  }
}

// A restart does not follow it: what is there then is another place.  Empty: there is none.
std::string MountPointChecker::link_on_the_way(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    struct stat now;
    if (!no_links_.contains(part)) {
      if (names::lstat(part, now) == 0 && S_ISLNK(now.st_mode)) return part;
      no_links_.insert(part);
    }
    if (end == std::string::npos) return {};
  }
}

// Nothing: it is not known, or a problem.
std::optional<bool> MountPointChecker::source_is_directory(std::size_t mount) {
  const Mount& wanted = tree_.mounts[mount];
  if (tree_.kinds[mount].kind == CRYO_MOUNT_NEW) return true;
  if (tree_.kinds[mount].kind != CRYO_MOUNT_BIND) return {};
  const auto source = source_path(tree_.outer, wanted);
  struct stat now;
  if (!source) return {};
  if (names::lstat(*source, now) == 0) return S_ISDIR(now.st_mode);
  const int error = errno;
  findings_.problem(error, "mount {}: {}, which was mounted there, cannot be found: {}", wanted.point,
                    *source, errno_text(error));
  return {};
}

// Which of the two is not what it was, nobody knows.
void MountPointChecker::report_kinds(std::size_t mount, const std::string& point, bool directory) {
  const Mount& wanted = tree_.mounts[mount];
  const auto source = source_path(tree_.outer, wanted);
  if (tree_.kinds[mount].kind != CRYO_MOUNT_BIND || !source)
    return findings_.problem(ENOTDIR, "mount {}: its mount point {} is not a directory any more",
                             wanted.point, point);
  findings_.problem(ENOTDIR, "mount {}: {}, which was mounted there, is {} now, and its mount point {} is {}",
                    wanted.point, *source, directory ? "a directory" : "no directory", point,
                    directory ? "no directory" : "a directory");
}

void MountPointChecker::check_one(std::size_t mount) {
  const Mount& wanted = tree_.mounts[mount];
  if (tree_.kinds[mount].pid_ns != 0 || is_there_already(wanted)) return;
  const std::optional<bool> directory = source_is_directory(mount);
  const std::optional<std::string> point = outer_point(mount);
  if (!point) return;
  struct stat now;
  if (names::lstat(*point, now) != 0) {
    const int error = errno;
    findings_.problem(error, "mount {}: its mount point {} cannot be found: {} (recreate it)", wanted.point,
                      *point, errno_text(error));
  } else if (const std::string link = link_on_the_way(*point); !link.empty()) {
    findings_.problem(ESTALE,
                      "mount {}: {} is a symbolic link now, which is not followed (put the directory back)",
                      wanted.point, link);
  } else if (directory && *directory != S_ISDIR(now.st_mode)) {
    report_kinds(mount, *point, *directory);
  }
}

void MountPointChecker::check() {
  const OwnNames own;
  for (std::size_t i = 0; i < tree_.mounts.size(); ++i) check_one(i);
}

// What the copy of cr_restart's mounts has, and the job has not, is taken away first: not by who owns it by a
// user namespace only, to whom the kernel gives it locked.  It stays then, where it hides nothing of the job.
class LockedMountChecker {
 public:
  LockedMountChecker(const Context& context, std::uint32_t ns, const std::vector<Mount>& now,
                     Findings& findings)
      : context_(context),
        ns_(ns),
        wanted_(mounts_to_build(context, ns)),
        tree_(wanted_.tree),
        now_(now),
        findings_(findings) {
    for (std::size_t i = 0; i < tree_.mounts.size(); ++i) children_.emplace(tree_.mounts[i].parent, i);
    for (std::size_t i = 0; i < now.size(); ++i) children_now_.emplace(now[i].parent, i);
  }

  void check();

 private:
  void visit(std::uint32_t wanted, std::uint32_t id);
  void visit_copied();
  void judge(const Mount& mount);
  [[nodiscard]] static std::uint32_t root_of(const std::vector<Mount>& mounts);

  const Context& context_;
  std::uint32_t ns_;
  MountsToBuild wanted_;
  const MountTree& tree_;
  const std::vector<Mount>& now_;
  Findings& findings_;
  std::multimap<std::uint32_t, std::size_t> children_, children_now_;  // by the parent's number
};

// The number of the mount whose parent is none of them.
std::uint32_t LockedMountChecker::root_of(const std::vector<Mount>& mounts) {
  std::set<std::uint32_t> ids;
  for (const Mount& mount : mounts) ids.insert(mount.id);
  for (const Mount& mount : mounts)
    if (!ids.contains(mount.parent)) return mount.id;
  return 0;
}

void LockedMountChecker::visit(std::uint32_t wanted, std::uint32_t id) {
  std::vector<std::size_t> rest;
  const auto [first, last] = children_now_.equal_range(id);
  for (auto at = first; at != last; ++at)
    if (now_[at->second].id != id) rest.push_back(at->second);
  const auto [first_wanted, last_wanted] = children_.equal_range(wanted);
  for (auto at = first_wanted; at != last_wanted; ++at) {
    const Mount& mount = tree_.mounts[at->second];
    if (tree_.kinds[at->second].kind != CRYO_MOUNT_BIND || mount.id == wanted) continue;
    const auto same = std::find_if(rest.begin(), rest.end(), [&](std::size_t other) {
      return now_[other].point == mount.point && now_[other].type == mount.type &&
             now_[other].root == mount.root;
    });
    if (same == rest.end()) continue;
    const Mount& found = proc_over(now_, now_[*same], tree_, mount);
    rest.erase(same);
    visit(mount.id, found.id);
  }
  for (const std::size_t other : rest) judge(now_[other]);
}

// With another root directory, only what is mounted below something that is bound comes with that.
void LockedMountChecker::visit_copied() {
  for (const Mount& mount : now_) {
    const auto places = places_in(wanted_, tree_.outer, mount.point);
    const bool wanted = std::all_of(places.begin(), places.end(), [&](const std::string& place) {
      return std::any_of(tree_.mounts.begin(), tree_.mounts.end(), [&](const Mount& own) {
        return own.point == place && own.type == mount.type && own.root == mount.root;
      });
    });
    if (!wanted) judge(mount);
  }
}

// The mount namespaces of the job that are copies of this one have it, too.
void LockedMountChecker::judge(const Mount& mount) {
  bool stays = may_stay(context_, ns_, mount.point);
  for (const auto& [id, ns] : context_.namespaces) {
    std::size_t steps = 0;  // a circle is a problem of its own, see check_mounts()
    for (std::uint32_t at = ns.mnt ? copied_from(context_, id) : 0;
         stays && at != 0 && ++steps <= context_.namespaces.size(); at = copied_from(context_, at))
      if (at == ns_) stays = may_stay(context_, id, mount.point);
  }
  if (stays)
    findings_.warning(
        "mount {} ({}): not a mount of the job, and cr_restart cannot unmount it there: it stays",
        mount.point, mount.type);
  else
    findings_.problem(
        ESTALE,
        "mount {} ({}): not a mount of the job, and cr_restart cannot unmount it there (unmount it first)",
        mount.point, mount.type);
}

void LockedMountChecker::check() {
  if (wanted_.changes_root) return visit_copied();
  const std::uint32_t wanted = root_of(tree_.mounts), id = root_of(now_);
  if (wanted != 0 && id != 0) visit(wanted, id);
}

}  // namespace

void check_mount_points(const Context& context, Findings& findings) {
  std::optional<std::vector<Mount>> now;
  for (const auto& [id, ns] : context.namespaces) {
    if (!ns.mnt) continue;
    if (!now) now = parse_mountinfo(read_proc("self/mountinfo"));
    if (!now) fail(EIO, "/proc/self/mountinfo cannot be read");
    MountPointChecker(mounts_to_build(context, id), *now, findings).check();
    if (ns.head.owner != 0 && copied_from(context, id) == 0)
      LockedMountChecker(context, id, *now, findings).check();
  }
}

}  // namespace cryo
