// SPDX-License-Identifier: GPL-2.0-only
// What is mounted in a mount namespace.
#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "context/mountinfo.h"
#include "context/staging.h"

namespace cryo {
namespace {

constexpr std::uint32_t kNobody = 0xffffffff;

std::vector<Mount> mounts_of(const Payload& payload, std::string_view text) {
  auto mounts = parse_mountinfo(text);
  if (!mounts) payload.damaged("its text is not that of mountinfo");
  return std::move(*mounts);
}

// One has its parent outside, and all others are below that one.
void check_tree(const Payload& payload, const std::vector<Mount>& mounts) {
  std::map<std::uint32_t, std::uint32_t> parents;
  std::size_t roots = 0;
  for (const Mount& mount : mounts)
    if (!parents.emplace(mount.id, mount.parent).second) payload.damaged("mount {} appears twice", mount.id);
  for (const Mount& mount : mounts) {
    roots += parents.contains(mount.parent) ? 0 : 1;
    std::size_t steps = 0;
    for (auto at = parents.find(mount.id); at != parents.end(); at = parents.find(at->second))
      if (++steps > mounts.size()) payload.damaged("mount {} is below itself", mount.id);
  }
  if (roots != 1) payload.damaged("{} mounts are the root", roots);
}

bool can_be_new(const std::string& type) {
  return type == "proc" || type == "tmpfs" || type == "devpts";
}

// That `again` shows, too.
bool has_new(const MountTree& tree, const Mount& again) {
  for (std::size_t i = 0; i < tree.kinds.size(); ++i)
    if (tree.kinds[i].kind == CRYO_MOUNT_NEW && tree.mounts[i].device == again.device) return true;
  return false;
}

void check_kinds(Staging& staging, const Payload& payload, const MountTree& tree) {
  if (tree.kinds.size() != tree.mounts.size())
    payload.damaged("{} mounts, and {} lines of text", tree.kinds.size(), tree.mounts.size());
  for (std::size_t i = 0; i < tree.kinds.size(); ++i) {
    const cryo_mount& kind = tree.kinds[i];
    if (kind.id != tree.mounts[i].id)
      payload.damaged("mount {} is {} in the text", kind.id, tree.mounts[i].id);
    if (kind.kind < CRYO_MOUNT_BIND || kind.kind > CRYO_MOUNT_AGAIN)
      staging.unknown(payload.section(), "mount of kind {}", kind.kind);
    if (kind.kind != CRYO_MOUNT_BIND && !can_be_new(tree.mounts[i].type))
      staging.unknown(payload.section(), "new mount of type {}", tree.mounts[i].type);
  }
}

// What a restart may make where its user is root.
bool is_usual_device(std::uint32_t rdev) {
  constexpr std::uint32_t kUsual[][2] = CRYO_TMPFS_DEVICES;
  return std::any_of(std::begin(kUsual), std::end(kUsual),
                     [rdev](const std::uint32_t(&one)[2]) { return rdev == (one[0] << 8 | one[1]); });
}

// What can be said about one without the others.
void check_entry(Staging& staging, const Payload& payload, const MountEntry& entry) {
  const cryo_mount_entry& head = entry.head;
  const std::uint32_t type = head.mode & S_IFMT;
  const bool known = type == S_IFREG || type == S_IFDIR || type == S_IFLNK || type == S_IFIFO ||
                     type == S_IFSOCK || type == S_IFCHR;
  if (!known || (head.mode & ~(S_IFMT | 07777U)) != 0)
    staging.unknown(payload.section(), "file of mode {:#o}", head.mode);
  if (type == S_IFCHR ? !is_usual_device(head.rdev) : head.rdev != 0)
    payload.damaged("mode {:#o} and device {:#x}", head.mode, head.rdev);
  if (entry.id > CRYO_MAX_MOUNT_ENTRIES) payload.damaged("{} is too large a number", entry.id);
  if (entry.path.size() > CRYO_MAX_MOUNT_PATH || entry.target.size() > CRYO_MAX_MOUNT_PATH)
    payload.damaged("a path of {} bytes, a target of {}", entry.path.size(), entry.target.size());
  if (head.uid == kNobody || head.gid == kNobody) payload.damaged("it has no owner");
  if ((head.size != 0 && (type != S_IFREG || head.link != 0)) || head.size > INT64_MAX)
    payload.damaged("mode {:#o} and size {}", head.mode, head.size);
  if (entry.target.empty() == (type == S_IFLNK && head.link == 0))
    payload.damaged("mode {:#o} with the target '{}'", head.mode, entry.target);
}

using MountKey = std::pair<std::uint32_t, std::uint32_t>;  // namespace, mount

// Those that may have files.
std::set<MountKey> new_tmpfs(const Context& context) {
  std::set<MountKey> found;
  for (const auto& [id, ns] : context.namespaces)
    for (std::size_t i = 0; ns.mnt && i < ns.mnt->kinds.size(); ++i)
      if (ns.mnt->kinds[i].kind == CRYO_MOUNT_NEW && ns.mnt->mounts[i].type == "tmpfs")
        found.emplace(id, ns.mnt->kinds[i].id);
  return found;
}

// Why it cannot be another name of `first`; nullptr: it can.
const char* link_problem(const Context& context, const MountEntry& entry) {
  const auto first = context.mount_entries.find(entry.head.link);
  if (first == context.mount_entries.end() || first->first >= entry.id)
    return "what it is a name of is not before it";
  const cryo_mount_entry& head = first->second.head;
  if (head.ns != entry.head.ns || head.mount != entry.head.mount) return "what it is a name of is elsewhere";
  if (head.link != 0 || head.mode != entry.head.mode || S_ISDIR(head.mode))
    return "it cannot be a name of that";
  return nullptr;
}

// Where the processes of a pid namespace see each other is made in each mount namespace.
bool is_made_for(const Context& context, std::uint32_t ns, const Mount& again) {
  return std::any_of(context.namespaces.begin(), context.namespaces.end(), [&](const auto& one) {
    return one.second.mnt && (one.first == ns || again.type != "proc") && has_new(*one.second.mnt, again);
  });
}

void check_shown_again(const Staging& staging, const Context& context) {
  for (const auto& [id, ns] : context.namespaces)
    for (std::size_t i = 0; ns.mnt && i < ns.mnt->kinds.size(); ++i)
      if (ns.mnt->kinds[i].kind == CRYO_MOUNT_AGAIN && !is_made_for(context, id, ns.mnt->mounts[i]))
        inconsistent(staging, "mount {} of namespace {} shows a file system that is not made",
                     ns.mnt->kinds[i].id, id);
}

// It is made before there is a process in the namespace.
bool can_be_root(const MountTree& tree) {
  for (std::size_t i = 0; i < tree.mounts.size(); ++i)
    if (std::none_of(tree.mounts.begin(), tree.mounts.end(),
                     [&](const Mount& mount) { return mount.id == tree.mounts[i].parent; }))
      return tree.mounts[i].point == "/" && (tree.kinds[i].kind == CRYO_MOUNT_BIND ||
                                             (tree.mounts[i].type == "tmpfs" && tree.kinds[i].pid_ns == 0));
  return false;
}

void check_roots_of_namespaces(const Staging& staging, const Context& context) {
  for (const auto& [id, ns] : context.namespaces)
    if (ns.root && (!ns.mnt || !can_be_root(*ns.mnt)))
      inconsistent(staging, "namespace {}: it cannot have a root directory of its own", id);
}

// Whether a name is one, and its directory, if not what is mounted.
struct NameIn {
  explicit NameIn(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash != std::string::npos) directory = path.substr(0, slash);
    last = slash == std::string::npos ? path : path.substr(slash + 1);
    good = slash != 0 && !last.empty() && last != "." && last != "..";
  }
  std::string directory, last;
  bool good;
};

}  // namespace

void parse_ns_mnt(Staging& staging, const Payload& payload) {
  const auto head = payload.fixed<cryo_ns_mnt>();
  const auto tail = payload.tail();
  const std::uint64_t records = std::uint64_t{head.nr_mounts} * head.record_size;
  if (head.nr_mounts > CRYO_MAX_MOUNTS || head.record_size < sizeof(std::uint64_t) || records > tail.size() ||
      head.text_len > tail.size() - records)
    payload.damaged("{} mounts and {} bytes of text in {} bytes", head.nr_mounts, head.text_len, tail.size());
  if ((head.flags & ~CRYO_NS_MNT_GROUPS) != 0)
    staging.unknown(payload.section(), "mounts with flags {:#x}", head.flags);
  MountTree tree;
  for (std::uint32_t i = 0; i < head.nr_mounts; ++i)
    tree.kinds.push_back(
        grown<cryo_mount>(tail.subspan(i * std::size_t{head.record_size}, head.record_size)));
  const std::string_view text(reinterpret_cast<const char*>(tail.data()) + records, tail.size() - records);
  if (text.find('\0') != std::string_view::npos) payload.damaged("a NUL byte is inside its text");
  tree.mounts = mounts_of(payload, text.substr(0, head.text_len));
  tree.outer = mounts_of(payload, text.substr(head.text_len));
  tree.has_groups = (head.flags & CRYO_NS_MNT_GROUPS) != 0;
  check_tree(payload, tree.mounts);
  check_kinds(staging, payload, tree);
  staging.once(payload);
  if (payload.object() == 0) payload.damaged("0 cannot be a namespace");
  staging.namespaces.mention(payload.object(), payload.section()).mnt = std::move(tree);
}

void parse_ns_root(Staging& staging, const Payload& payload) {
  const auto head = payload.fixed<cryo_inode>();
  staging.once(payload);
  if (payload.object() == 0) payload.damaged("0 cannot be a namespace");
  if (!S_ISDIR(head.mode)) payload.damaged("a root directory of mode {:#o}", head.mode);
  staging.namespaces.mention(payload.object(), payload.section()).root = head;
}

void parse_mount_entry(Staging& staging, const Payload& payload) {
  MountEntry entry;
  entry.head = payload.fixed<cryo_mount_entry>();
  const auto tail = payload.tail();
  if (entry.head.path_len > tail.size())
    payload.damaged("a path of {} bytes in {} bytes", entry.head.path_len, tail.size());
  const std::string_view text(reinterpret_cast<const char*>(tail.data()), tail.size());
  if (text.find('\0') != std::string_view::npos) payload.damaged("a NUL byte is inside its text");
  entry.id = payload.object();
  entry.path = text.substr(0, entry.head.path_len);
  entry.target = text.substr(entry.head.path_len);
  check_entry(staging, payload, entry);
  staging.mount_entries.define(entry.id, payload) = std::move(entry);
}

// So that nothing is made elsewhere: each is in a directory that is there before it.
void check_mount_entries(const Staging& staging, const Context& context) {
  check_shown_again(staging, context);
  check_roots_of_namespaces(staging, context);
  const std::set<MountKey> mounts = new_tmpfs(context);
  using Place = std::pair<MountKey, std::string>;
  std::set<Place> all, directories;
  for (const auto& [id, entry] : context.mount_entries) {
    const MountKey mount{entry.head.ns, entry.head.mount};
    const auto bad = [&staging, file = id](std::string_view why) {
      inconsistent(staging, "file {} of a mount: {}", file, why);
    };
    if (!mounts.contains(mount)) bad("its mount is no new tmpfs");
    const NameIn name(entry.path);
    const bool top = entry.path.empty(), directory = S_ISDIR(entry.head.mode);
    if (top && !directory) bad("what is mounted is no directory");
    if (!top && !name.good) bad("its name is none");
    if (!top && !directories.contains({mount, name.directory})) bad("its directory is not before it");
    if (!all.emplace(mount, entry.path).second) bad("its path appears twice");
    if (directory) directories.emplace(mount, entry.path);
    const char* problem = entry.head.link != 0 ? link_problem(context, entry) : nullptr;
    if (problem != nullptr) bad(problem);
  }
}

}  // namespace cryo
