// SPDX-License-Identifier: GPL-2.0-only
// The new namespace begins as a copy of cr_restart's, and the tree of the job is laid over it: what both have
// at the same place stays, what the job has not is taken away, and what is missing is mounted.  Whatever
// covers other mounts comes after these, so that a path always leads to the one that is meant.
#include "restart/ns/mounts.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/place.h"
#include "base/unique_fd.h"
#include "context/mountinfo.h"
#include "restart/common/proc_files.h"
#include "restart/ns/mount_groups.h"
#include "restart/ns/reach.h"
#include "restart/rights/thread_ids.h"

namespace cryo {
namespace {

struct Flag {
  const char* name;
  unsigned long flag;
  std::uint64_t attribute;  // of mount_setattr(2)
};
constexpr Flag kFlags[] = {
    {"ro", MS_RDONLY, MOUNT_ATTR_RDONLY},           {"nosuid", MS_NOSUID, MOUNT_ATTR_NOSUID},
    {"nodev", MS_NODEV, MOUNT_ATTR_NODEV},          {"noexec", MS_NOEXEC, MOUNT_ATTR_NOEXEC},
    {"noatime", MS_NOATIME, MOUNT_ATTR_NOATIME},    {"nodiratime", MS_NODIRATIME, MOUNT_ATTR_NODIRATIME},
    {"relatime", MS_RELATIME, MOUNT_ATTR_RELATIME}, {"nosymfollow", MS_NOSYMFOLLOW, MOUNT_ATTR_NOSYMFOLLOW}};

unsigned long flags_of(const std::set<std::string>& options) {
  unsigned long flags = 0;
  for (const Flag& flag : kFlags)
    if (options.contains(flag.name)) flags |= flag.flag;
  return flags & (MS_NOATIME | MS_RELATIME) ? flags : flags | MS_STRICTATIME;
}

// To these options, whatever they were.
mount_attr attributes_of(const std::set<std::string>& options) {
  mount_attr attributes{};
  attributes.attr_clr = MOUNT_ATTR__ATIME;
  for (const Flag& flag : kFlags)
    (options.contains(flag.name) ? attributes.attr_set : attributes.attr_clr) |= flag.attribute;
  if (!options.contains("noatime") && !options.contains("relatime"))
    attributes.attr_set |= MOUNT_ATTR_STRICTATIME;
  return attributes;
}

bool change(const UniqueFd& mount, mount_attr attributes) {
  return ::mount_setattr(mount.get(), "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) == 0;
}

// The file system itself, with all of its mounts.
bool make_read_only(const UniqueFd& mount) {
  const UniqueFd system(::fspick(mount.get(), "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH));
  return system && ::fsconfig(system.get(), FSCONFIG_SET_FLAG, "ro", nullptr, 0) == 0 &&
         ::fsconfig(system.get(), FSCONFIG_CMD_RECONFIGURE, nullptr, nullptr, 0) == 0;
}

std::string text_of(const std::set<std::string>& options) {
  return fmt::format("{}", fmt::join(options, ","));
}

std::uint32_t number_after(const std::string& option) {
  std::uint32_t number = 0;
  for (const char c : option.substr(option.find('=') + 1))
    number = number * 10 + static_cast<std::uint32_t>(c - '0');
  return number;
}

// Those of the file system itself, as mount(2) takes them.
std::string data_of(const Mount& mount, const MountHelp& help) {
  std::istringstream in(mount.super_options);
  std::string data;
  for (std::string word; std::getline(in, word, ',');) {
    if (word == "rw" || word == "ro") continue;
    if (word.starts_with("uid=") || word.starts_with("gid=")) {
      const auto number = help.number(number_after(word), word.front() == 'g');
      if (!number) continue;  // that of who mounts it
      word = fmt::format("{}{}", word.substr(0, 4), *number);
    }
    data += (data.empty() ? "" : ",") + word;
  }
  return data;
}

std::string joined(const std::string& directory, const std::string& rest) {
  if (rest.empty() || rest == "/") return directory;
  return directory == "/" ? rest : directory + rest;
}

std::string rest_below(const std::string& path, const std::string& top) {
  return top == "/" ? path : path.substr(top.size());
}

// Where it is to be had, of `mounts`.
std::optional<std::string> source_of(const std::vector<Mount>& mounts, const Mount& wanted) {
  const Mount* best = nullptr;
  for (const Mount& outer : mounts)
    if (outer.device == wanted.device && lies_below(wanted.root, outer.root) &&
        (best == nullptr || outer.root.size() > best->root.size()))
      best = &outer;
  if (best == nullptr) return {};
  return joined(best->point, rest_below(wanted.root, best->root));
}

// There is a directory of this name everywhere.
constexpr const char* kStage = "/proc";

// So that what the caller mounts is seen by nobody.
void leave_mounts() {
  if (!make_namespaces(CLONE_NEWNS) || ::mount(nullptr, "/", nullptr, MS_PRIVATE | MS_REC, nullptr) != 0)
    fail_errno("cannot create a mount namespace to create a file system in");
}

UniqueFd copy_of(int directory, const std::string& path, const std::string& root) {
  UniqueFd fd(::open_tree(directory, path.c_str(),
                          OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
  if (!fd) fail_errno("cannot take {} of a new file system", root);
  return fd;
}

void mount_new(const Mount& wanted, const std::string& point, const MountHelp& help) {
  const bool read_only = wanted.super_options == "ro" || wanted.super_options.starts_with("ro,");
  const unsigned long final =
      flags_of(wanted.options) | (read_only ? static_cast<unsigned long>(MS_RDONLY) : 0UL);
  const bool fill = wanted.type == "tmpfs";
  const unsigned long first = fill ? final & ~static_cast<unsigned long>(MS_RDONLY) : final;
  const std::string data = data_of(wanted, help);
  if (::mount(wanted.source.c_str(), point.c_str(), wanted.type.c_str(), first, data.c_str()) != 0)
    fail_errno("mount {}: cannot mount a {} there", wanted.point, wanted.type);
  if (fill) help.fill(wanted.id, point);
  if (!fill || !((first ^ final) & MS_RDONLY)) return;
  const UniqueFd made = open_mount(point, wanted.type);
  if ((read_only && !make_read_only(made)) || !change(made, attributes_of(wanted.options)))
    fail_errno("mount {}: cannot be made read-only", wanted.point);
}

// All others are below it.
bool is_top(const std::vector<Mount>& all, const Mount& mount) {
  return std::none_of(all.begin(), all.end(), [&](const Mount& other) { return other.id == mount.parent; });
}

std::vector<Mount> own_mounts() {
  auto mounts = parse_mountinfo(read_proc("self/mountinfo"));
  if (!mounts || mounts->empty()) fail(EIO, "/proc/self/mountinfo cannot be read");
  return std::move(*mounts);
}

// "MAJOR:MINOR" of cr_restart's own /proc.
std::string own_proc_device() {
  const UniqueFd proc = open_proc(".", O_PATH | O_DIRECTORY);
  struct statx at {};
  if (!proc || ::statx(proc.get(), "", AT_EMPTY_PATH, 0, &at) != 0) return "";
  return fmt::format("{}:{}", at.stx_dev_major, at.stx_dev_minor);
}

// What is mounted right on it.
const Mount* cover_of(const std::vector<Mount>& mounts, const Mount& mount) {
  const auto found = std::find_if(mounts.begin(), mounts.end(), [&mount](const Mount& other) {
    return other.parent == mount.id && other.id != mount.id && other.point == mount.point;
  });
  return found == mounts.end() ? nullptr : &*found;
}

class MountBuilder {
 public:
  MountBuilder(const MountsToBuild& wanted, const MountHelp& help, std::uint32_t pid_ns)
      : tree_(wanted.tree),
        base_(wanted.base),
        changes_root_(wanted.changes_root),
        help_(help),
        pid_ns_(pid_ns),
        groups_(wanted.tree) {}

  void build();

 private:
  struct Source {
    UniqueFd tree;  // a copy of what is there, mounted nowhere
    int error = ENOENT;
  };

  [[nodiscard]] const std::vector<Mount>& sources() const { return base_ ? base_->mounts : tree_.outer; }
  [[nodiscard]] bool can_be_there(std::size_t wanted) const;
  [[nodiscard]] bool is_left(std::size_t wanted);
  [[nodiscard]] bool has_part(std::size_t wanted);
  [[nodiscard]] std::vector<std::size_t> children(std::uint32_t id) const;
  [[nodiscard]] const Mount& now(std::uint32_t id) const;
  [[nodiscard]] const Mount* match(std::size_t wanted, std::uint32_t parent) const;
  [[nodiscard]] Source copy_of_path(const std::string& path) const;
  [[nodiscard]] Source copy_source(const Mount& wanted) const;
  [[nodiscard]] std::optional<std::string> source_inside(const Mount& wanted) const;
  void copy_sources(std::size_t root);
  [[nodiscard]] UniqueFd take_root(std::size_t root);
  void change_root(std::size_t root);
  [[nodiscard]] bool is_within(std::uint32_t id, std::uint32_t top) const;
  [[nodiscard]] bool unmount(const Mount& mount) const;
  void take_away(std::uint32_t parent);
  void bind(std::size_t wanted);
  void attach(const Mount& mount, const UniqueFd& part) const;
  void make_new(std::size_t wanted);
  std::uint32_t create(std::size_t wanted, std::uint32_t parent);
  void restore_groups();
  void set_options(const Mount& wanted, std::uint32_t id);
  void visit(std::size_t wanted, std::uint32_t id);
  void check() const;

  const MountTree& tree_;
  const MountTree* base_;  // nullptr: cr_restart's
  const bool changes_root_;
  const MountHelp& help_;
  std::uint32_t pid_ns_;
  std::vector<Mount> now_;
  std::map<std::size_t, Source> sources_;
  std::map<std::size_t, UniqueFd> parts_;  // detached
  const MountGroups groups_;
  std::map<std::size_t, UniqueFd> in_groups_;    // of each mount, as long as a path leads there
  bool last_ = false;                            // time that the tree is gone through
  std::map<std::uint32_t, std::size_t> placed_;  // by its id now
  std::set<std::uint32_t> covered_;              // by what stands for them: their ids now
};

bool MountBuilder::has_part(std::size_t wanted) {
  if (parts_.contains(wanted)) return true;
  UniqueFd part = help_.part(tree_.kinds[wanted].id);
  if (!part) return false;
  parts_.emplace(wanted, std::move(part));
  return true;
}

// To another process, or to the time when that of which it is a part has been mounted.
bool MountBuilder::is_left(std::size_t wanted) {
  const cryo_mount& kind = tree_.kinds[wanted];
  if (kind.pid_ns != 0 && kind.pid_ns != pid_ns_) return true;
  return kind.kind == CRYO_MOUNT_AGAIN && !last_ && !has_part(wanted);
}

// The deepest first: they were there before anything above them was covered.
std::vector<std::size_t> MountBuilder::children(std::uint32_t id) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < tree_.mounts.size(); ++i)
    if (tree_.mounts[i].parent == id && tree_.mounts[i].id != id) found.push_back(i);
  std::stable_sort(found.begin(), found.end(), [this](std::size_t a, std::size_t b) {
    return tree_.mounts[a].point.size() > tree_.mounts[b].point.size();
  });
  return found;
}

const Mount& MountBuilder::now(std::uint32_t id) const {
  const auto found = std::find_if(now_.begin(), now_.end(), [id](const Mount& m) { return m.id == id; });
  if (found == now_.end()) fail(EIO, "a mount disappeared while the namespace was being set up");
  return *found;
}

// A new one is in no copy of cr_restart's, and of another one of the job there is what that had.
bool MountBuilder::can_be_there(std::size_t wanted) const {
  if (pid_ns_ != 0) return true;
  if (base_ == nullptr) return tree_.kinds[wanted].kind == CRYO_MOUNT_BIND;
  const Mount& mount = tree_.mounts[wanted];
  return std::any_of(base_->mounts.begin(), base_->mounts.end(), [&mount](const Mount& other) {
    return other.device == mount.device && other.root == mount.root && other.point == mount.point;
  });
}

const Mount* MountBuilder::match(std::size_t wanted, std::uint32_t parent) const {
  const Mount& mount = tree_.mounts[wanted];
  if (!can_be_there(wanted)) return nullptr;
  // Once in a cgroup namespace, who looks from there sees other paths.
  const bool elsewhere = pid_ns_ != 0 && mount.type.starts_with("cgroup");
  for (const Mount& other : now_)
    if (other.parent == parent && other.point == mount.point && other.type == mount.type &&
        (other.root == mount.root || elsewhere) && !placed_.contains(other.id))
      return &other;
  return nullptr;
}

MountBuilder::Source MountBuilder::copy_of_path(const std::string& path) const {
  const bool recursive = std::any_of(now_.begin(), now_.end(), [&path](const Mount& other) {
    return other.point != path && lies_below(other.point, path);
  });
  // Whoever can change a directory on the way decides by a link whose directory is bound.
  const UniqueFd fd(open_at(AT_FDCWD, path, O_PATH | O_NOFOLLOW));
  if (!fd) return {UniqueFd(), errno};
  UniqueFd tree(::open_tree(fd.get(), "",
                            AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
                                static_cast<unsigned int>(recursive ? AT_RECURSIVE : 0)));
  return {std::move(tree), errno};
}

// What is mounted later than the rest is made of what the namespace shows by then, as what it was copied from
// is out of reach.
std::optional<std::string> MountBuilder::source_inside(const Mount& wanted) const {
  std::vector<Mount> placed;
  for (const auto& [id, other] : placed_)
    if (tree_.mounts[other].id != wanted.id) placed.push_back(tree_.mounts[other]);
  return source_of(placed, wanted);
}

MountBuilder::Source MountBuilder::copy_source(const Mount& wanted) const {
  const auto path = pid_ns_ != 0 && changes_root_ ? source_inside(wanted) : source_of(sources(), wanted);
  return path ? copy_of_path(*path) : Source{};
}

// As long as nothing covers them, and they are mounted: the job may have what they were bound from no more.
// What is there in any case needs none, so an error is told when it is missed.
void MountBuilder::copy_sources(std::size_t root) {
  for (std::size_t i = 0; i < tree_.mounts.size(); ++i)
    if (tree_.kinds[i].kind == CRYO_MOUNT_BIND && (i != root || changes_root_))
      sources_.emplace(i, copy_source(tree_.mounts[i]));
}

// Of what has been made before the tree, or is bound.
UniqueFd MountBuilder::take_root(std::size_t root) {
  const Mount& mount = tree_.mounts[root];
  if (tree_.kinds[root].kind != CRYO_MOUNT_BIND) {
    if (!has_part(root)) fail(EIO, "mount {}: the {} has not been made", mount.point, mount.type);
    return std::move(parts_.at(root));
  }
  Source source = std::move(sources_.at(root));
  sources_.erase(root);
  errno = source.error;
  if (!source.tree)
    fail_errno("mount {}: cannot take {} as the root directory", mount.point,
               source_of(sources(), mount).value_or("?"));
  return std::move(source.tree);
}

// On top of what is there, which then goes with all that is mounted in it: nothing of it can be reached any
// more.
void MountBuilder::change_root(std::size_t root) {
  const Mount& mount = tree_.mounts[root];
  const UniqueFd top = take_root(root);
  if (::move_mount(top.get(), "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) != 0 || ::fchdir(top.get()) != 0 ||
      ::syscall(SYS_pivot_root, ".", ".") != 0 || ::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0)
    fail_errno("mount {}: cannot change the root directory", mount.point);
  now_ = own_mounts();
}

bool MountBuilder::is_within(std::uint32_t id, std::uint32_t top) const {
  while (id != top) {
    const auto found = std::find_if(now_.begin(), now_.end(), [id](const Mount& m) { return m.id == id; });
    if (found == now_.end() || found->parent == id) return false;
    id = found->parent;
  }
  return true;
}

// Not what covers `mount`, when that is to stay.  Of several at one place the last one goes.  To who owns the
// namespace by a user namespace the kernel gives cr_restart's locked: they stay, as the check has said.
bool MountBuilder::unmount(const Mount& mount) const {
  struct statx at {};
  const bool found =
      ::statx(AT_FDCWD, mount.point.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_MNT_ID, &at) == 0;
  if (found ? !is_within(static_cast<std::uint32_t>(at.stx_mnt_id), mount.id)
            : errno == ENOENT || errno == ENOTDIR)
    return false;
  if (::umount2(mount.point.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0) {
    if (errno == EINVAL && !help_.uses(mount.point)) return false;
    fail(ESTALE, "mount {} ({}): not a mount of the job, and cannot unmount it: {}", mount.point, mount.type,
         errno_text(errno));
  }
  return true;
}

// What cr_restart has there, and the job has not.  The kernel gives the number of what has gone to the next
// one.
void MountBuilder::take_away(std::uint32_t parent) {
  for (bool any = true; any;) {
    any = false;
    for (const Mount& other : now_)
      if (other.parent == parent && other.id != parent && !placed_.contains(other.id) &&
          !covered_.contains(other.id))
        any |= unmount(other);
    if (any) now_ = own_mounts();
  }
}

void MountBuilder::bind(std::size_t wanted) {
  const Mount& mount = tree_.mounts[wanted];
  const std::string from = source_of(sources(), mount).value_or("?");
  auto source = sources_.find(wanted);
  if (source == sources_.end()) source = sources_.emplace(wanted, copy_source(mount)).first;
  errno = source->second.error;
  if (!source->second.tree && errno == ENOENT)
    fail(ENOENT, "mount {}: {}, which was mounted there, is not there", mount.point, from);
  if (!source->second.tree || ::move_mount(source->second.tree.get(), "", AT_FDCWD, mount.point.c_str(),
                                           MOVE_MOUNT_F_EMPTY_PATH) != 0)
    fail_errno("mount {}: cannot bind {} there", mount.point, from);
  sources_.erase(source);  // used up
}

void MountBuilder::attach(const Mount& mount, const UniqueFd& part) const {
  if (::move_mount(part.get(), "", AT_FDCWD, mount.point.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    fail_errno("mount {}: cannot put {} of a new {} there", mount.point, mount.root, mount.type);
}

// Its parts are taken as long as nothing is mounted in it.
void MountBuilder::make_new(std::size_t wanted) {
  const Mount& mount = tree_.mounts[wanted];
  if (has_part(wanted)) return attach(mount, parts_.at(wanted));
  mount_new(mount, mount.point, help_);
  const std::vector<std::size_t> parts = shown_again(tree_, mount);
  if (parts.empty()) return;
  const UniqueFd top = open_mount(mount.point, mount.type);
  for (const std::size_t part : parts)
    parts_[part] = copy_of(top.get(), tree_.mounts[part].root.substr(1), tree_.mounts[part].root);
}

std::uint32_t MountBuilder::create(std::size_t wanted, std::uint32_t parent) {
  const Mount& mount = tree_.mounts[wanted];
  std::set<std::uint32_t> before;
  for (const Mount& other : now_) before.insert(other.id);
  if (tree_.kinds[wanted].kind == CRYO_MOUNT_BIND)
    bind(wanted);
  else if (tree_.kinds[wanted].kind == CRYO_MOUNT_NEW)
    make_new(wanted);
  else if (has_part(wanted))
    attach(mount, parts_.at(wanted));
  else if (const auto inside = pid_ns_ != 0 ? source_inside(mount) : std::nullopt)
    attach(mount, copy_of_path(*inside).tree);
  else
    fail(EIO, "mount {}: the {} of which it is {} has not been made", mount.point, mount.type, mount.root);
  now_ = own_mounts();
  for (const Mount& other : now_)
    if (!before.contains(other.id) && other.parent == parent && other.point == mount.point) {
      if (other.type != mount.type || (other.root != mount.root))
        fail(ESTALE, "mount {}: {} of a {} is there now instead of {} of a {}", mount.point, other.root,
             other.type, mount.root, mount.type);
      return other.id;
    }
  fail(EIO, "mount {}: something covers it", mount.point);
}

void MountBuilder::set_options(const Mount& wanted, std::uint32_t id) {
  const Mount& before = now(id);
  const bool other_options = before.options != wanted.options;
  const bool make_private = before.slave != 0 && !groups_.has_outer_master(wanted);
  const bool make_shared = before.shared == 0 && wanted.shared != 0 && !groups_.has_relative(wanted);
  if (!other_options && !make_private && !make_shared) return;
  const UniqueFd mount = open_mount(before.point, before.type, id);
  if (other_options && !change(mount, attributes_of(wanted.options)))
    fail_errno("mount {}: cannot be given its options {}", wanted.point, text_of(wanted.options));
  mount_attr propagation{};
  propagation.propagation = MS_PRIVATE;
  if (make_private && !change(mount, propagation))
    fail_errno("mount {}: cannot be made private", wanted.point);
  propagation.propagation = MS_SHARED;
  if (make_shared && !change(mount, propagation)) fail_errno("mount {}: cannot be made shared", wanted.point);
}

void MountBuilder::visit(std::size_t wanted, std::uint32_t id) {
  const Mount& mount = tree_.mounts[wanted];
  placed_[id] = wanted;
  set_options(mount, id);
  if (groups_.has_relative(mount) && !in_groups_.contains(wanted))
    in_groups_.emplace(wanted, open_mount(mount.point, mount.type, id));
  std::map<std::size_t, std::uint32_t> there;
  for (const std::size_t child : children(mount.id)) {
    const Mount* below = match(child, id);
    if (below == nullptr) continue;
    const Mount& found = proc_over(now_, *below, tree_, tree_.mounts[child]);
    if (found.id != below->id) covered_.insert(below->id);
    there[child] = found.id;
    placed_[found.id] = child;
  }
  take_away(id);
  for (const std::size_t child : children(mount.id)) {
    const auto found = there.find(child);
    if (found != there.end())
      visit(child, found->second);
    else if (!is_left(child))
      visit(child, create(child, id));
  }
}

// At the end, so that nothing that is mounted meanwhile is seen elsewhere, too.  What one process cannot
// mount yet, the next one does: then all are there.
void MountBuilder::restore_groups() {
  if (placed_.size() != tree_.mounts.size()) return;
  groups_.restore(in_groups_);
  now_ = own_mounts();
}

// Propagation and the file system's own options, too.
void MountBuilder::check() const {
  const bool whole = placed_.size() == tree_.mounts.size();
  for (const auto& [id, wanted] : placed_) {
    const Mount& is = now(id);
    const Mount& was = tree_.mounts[wanted];
    if (is.options != was.options)
      fail(EPERM, "mount {}: has the options {} here, not {}", was.point, text_of(is.options),
           text_of(was.options));
    const bool same = (is.shared != 0) == (was.shared != 0) && (is.slave != 0) == (was.slave != 0);
    if (!same && (whole || !groups_.has_relative(was)))
      fail(EPERM, "mount {}: cannot restore its mount propagation", was.point);
    if (tree_.kinds[wanted].kind == CRYO_MOUNT_NEW && is.super_options != was.super_options)
      fail(EPERM, "mount {}: is a {} with {} here, not {}", was.point, was.type, is.super_options,
           was.super_options);
  }
}

void MountBuilder::build() {
  const std::size_t root = root_mount(tree_);
  // Nothing gets out from here, in either case.
  const bool first = pid_ns_ == 0;
  const unsigned long propagation = groups_.has_outer_master(tree_.mounts[root]) ? MS_SLAVE : MS_PRIVATE;
  if (first && ::mount(nullptr, "/", nullptr, propagation | MS_REC, nullptr) != 0)
    fail_errno("cannot keep what is mounted in a mount namespace inside");
  now_ = own_mounts();
  if (first) copy_sources(root);
  if (first && changes_root_) change_root(root);
  const auto own = std::find_if(now_.begin(), now_.end(), [this](const Mount& m) { return is_top(now_, m); });
  if (own == now_.end()) fail(EIO, "cr_restart's own root directory is no mount");
  if (changes_root_ && (own->type != tree_.mounts[root].type || own->root != tree_.mounts[root].root))
    fail(ESTALE, "mount /: {} of a {} is there now instead of {} of a {}", own->root, own->type,
         tree_.mounts[root].root, tree_.mounts[root].type);
  // What is left in the first run can be had in the second.
  const std::uint32_t top = own->id;
  for (last_ = first;; last_ = true) {
    placed_.clear();
    covered_.clear();
    visit(root, top);
    now_ = own_mounts();
    if (last_) break;
  }
  restore_groups();
  check();
}

const MountTree& tree_of(const Context& context, std::uint32_t mnt) {
  return *context.namespaces.at(mnt).mnt;
}

// The one that a path leads to.
std::size_t mount_at(const MountTree& tree, const std::string& path) {
  std::size_t best = root_mount(tree);
  std::uint32_t at = 0;
  // From the root downwards: of those on one mount the outermost covers the others.
  for (bool deeper = true; deeper;) {
    deeper = false;
    at = tree.mounts[best].id;
    std::size_t next = best;
    for (std::size_t i = 0; i < tree.mounts.size(); ++i)
      if (tree.mounts[i].parent == at && tree.mounts[i].id != at && lies_below(path, tree.mounts[i].point) &&
          (!deeper || tree.mounts[i].point.size() < tree.mounts[next].point.size())) {
        next = i;
        deeper = true;
      }
    best = next;
  }
  return best;
}

}  // namespace

const Mount& proc_over(const std::vector<Mount>& now, const Mount& found, const MountTree& tree,
                       const Mount& wanted) {
  if (found.type != "proc" || found.root != "/") return found;
  for (std::size_t i = 0; i < tree.mounts.size(); ++i) {
    const Mount& mount = tree.mounts[i];
    if (tree.kinds[i].kind == CRYO_MOUNT_BIND && mount.parent == wanted.id && mount.id != wanted.id &&
        mount.point == wanted.point)
      return found;
  }
  const std::string own = own_proc_device();
  if (found.device == own) return found;
  for (const Mount* over = cover_of(now, found); over != nullptr; over = cover_of(now, *over))
    if (over->device == own && over->root == "/") return *over;
  return found;
}

// By the number that the kernel gives it, and where that is: a path alone may have been made to lead
// elsewhere.
UniqueFd open_mount(const std::string& point, const std::string& type, std::uint32_t id) {
  UniqueFd top(::open(point.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!top) fail_errno("mount {}: cannot open it", point);
  const std::string info = "\n" + read_proc(fmt::format("self/fdinfo/{}", top.get()));
  const std::size_t at = info.find("\nmnt_id:");
  const unsigned long own = at == std::string::npos ? 0 : std::strtoul(info.c_str() + at + 8, nullptr, 10);
  const auto mounts = parse_mountinfo(read_proc("self/mountinfo"));
  struct statx now {};
  const bool is_top = ::statx(top.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS, &now) == 0 &&
                      (now.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  if (!is_top || !mounts || (id != 0 && own != id) ||
      std::none_of(mounts->begin(), mounts->end(), [&](const Mount& mount) {
        return mount.id == own && mount.point == point && mount.type == type;
      }))
    fail(ESTALE, "mount {}: its path now resolves to another mount", point);
  return top;
}

std::vector<std::size_t> shown_again(const MountTree& tree, const Mount& first) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < tree.mounts.size(); ++i)
    if (tree.kinds[i].kind == CRYO_MOUNT_AGAIN && tree.mounts[i].device == first.device) found.push_back(i);
  return found;
}

UniqueFd new_file_system(const Mount& wanted, const MountHelp& help) {
  leave_mounts();
  mount_new(wanted, kStage, help);
  return copy_of(AT_FDCWD, kStage, "/");
}

FdPair file_system_and_part(const UniqueFd& whole, const std::string& root) {
  leave_mounts();
  if (::move_mount(whole.get(), "", AT_FDCWD, kStage, MOVE_MOUNT_F_EMPTY_PATH) != 0)
    fail_errno("cannot mount a new file system");
  UniqueFd part = copy_of(AT_FDCWD, root == "/" ? kStage : kStage + root, root);
  return {copy_of(AT_FDCWD, kStage, "/"), std::move(part)};
}

std::optional<std::string> source_path(const std::vector<Mount>& mounts, const Mount& wanted) {
  return source_of(mounts, wanted);
}

std::size_t root_mount(const MountTree& tree) {
  std::size_t root = 0;
  while (!is_top(tree.mounts, tree.mounts[root])) ++root;
  return root;
}

MountsToBuild mounts_to_build(const Context& context, std::uint32_t ns) {
  const Namespace& own = context.namespaces.at(ns);
  const std::uint32_t base = copied_from(context, ns);
  if (base == 0) return {*own.mnt, nullptr, own.root.has_value()};
  const MountTree& above = tree_of(context, base);
  const Mount &root = own.mnt->mounts[root_mount(*own.mnt)], &other = above.mounts[root_mount(above)];
  return {*own.mnt, &above, root.device != other.device || root.root != other.root};
}

void build_mounts(const MountsToBuild& wanted, const MountHelp& help) {
  MountBuilder(wanted, help, 0).build();
}

void build_late_mounts(const MountsToBuild& wanted, const MountHelp& help, std::uint32_t pid_ns) {
  MountBuilder({wanted.tree, nullptr, wanted.changes_root}, help, pid_ns).build();
}

const Mount* out_of_reach_later(const MountsToBuild& wanted) {
  const MountTree& tree = wanted.tree;
  std::set<std::uint32_t> late;
  std::vector<Mount> early;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < tree.mounts.size(); ++i)
      if (tree.kinds[i].pid_ns != 0 || late.contains(tree.mounts[i].parent))
        more |= late.insert(tree.mounts[i].id).second;
  }
  for (const Mount& mount : tree.mounts)
    if (!late.contains(mount.id)) early.push_back(mount);
  for (std::size_t i = 0; i < tree.mounts.size(); ++i) {
    const cryo_mount& kind = tree.kinds[i];
    const bool inside = kind.kind == CRYO_MOUNT_BIND ? wanted.changes_root
                                                     : kind.kind == CRYO_MOUNT_AGAIN && kind.pid_ns == 0;
    if (inside && late.contains(kind.id) && !source_of(early, tree.mounts[i])) return &tree.mounts[i];
  }
  return nullptr;
}

namespace {

const Process* parent_of(const Context& context, const Process& process) {
  const auto found =
      std::find_if(context.processes.begin(), context.processes.end(),
                   [&process](const Process& one) { return one.head.pid == process.head.ppid; });
  return found == context.processes.end() ? nullptr : &*found;
}

}  // namespace

std::uint32_t copied_from(const Context& context, std::uint32_t ns) {
  for (const Process& process : context.processes) {
    if (process.namespaces.mnt != ns) continue;
    const Process* above = parent_of(context, process);
    if (above != nullptr && above->namespaces.mnt == ns) continue;
    // Who has one of a user namespace below the owner has made that later.  In a damaged context somebody may
    // descend from himself.
    for (std::size_t steps = 0; above != nullptr && steps < context.processes.size(); ++steps) {
      const std::uint32_t base = above->namespaces.mnt;
      if (base != ns && is_below(context, owner_of(context, ns), owner_of(context, base))) return base;
      above = parent_of(context, *above);
    }
    return 0;
  }
  return 0;
}

const Mount* missing_in(const MountTree& tree, const MountTree& base) {
  for (std::size_t i = 0; i < tree.mounts.size(); ++i)
    if (tree.kinds[i].kind == CRYO_MOUNT_BIND && !source_of(base.mounts, tree.mounts[i]))
      return &tree.mounts[i];
  return nullptr;
}

bool has_late_mounts(const MountTree& tree, std::uint32_t pid_ns) {
  return std::any_of(tree.kinds.begin(), tree.kinds.end(),
                     [pid_ns](const cryo_mount& kind) { return kind.pid_ns == pid_ns && pid_ns != 0; });
}

std::optional<std::string> outer_path(const Context& context, std::uint32_t mnt, const std::string& path) {
  if (mnt == 0) return path;
  const MountTree& tree = tree_of(context, mnt);
  const std::size_t at = mount_at(tree, path);
  if (tree.kinds[at].kind != CRYO_MOUNT_BIND) return {};
  const auto source = source_of(tree.outer, tree.mounts[at]);
  if (!source) return {};
  return joined(*source, rest_below(path, tree.mounts[at].point));
}

std::optional<std::string> outer_path(const Context& context, const File& file) {
  return outer_path(context, file.head.mnt, file.path);
}

std::optional<std::string> outer_path(const Context& context, const Relocations& relocations,
                                      const File& file) {
  return outer_path(context, file.head.mnt, relocations.apply(file.path));
}

std::uint32_t proc_namespace_of(const Context& context, const File& file) {
  if (file.head.mnt == 0) return 0;
  const MountTree& tree = tree_of(context, file.head.mnt);
  return tree.kinds[mount_at(tree, file.path)].pid_ns;
}

bool lies_on_late_mount(const Context& context, const File& file) {
  return proc_namespace_of(context, file) != 0;
}

}  // namespace cryo
