// SPDX-License-Identifier: GPL-2.0-only
// What is mounted in a mount namespace that cr_restart is not in.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "context/model.h"
#include "restart/common/helper_process.h"
#include "restart/common/relocate.h"

namespace cryo {

// What only the rest of the context tells about a mount namespace.
struct MountHelp {
  // Fills a tmpfs that has just been mounted: its number in the tree, and where it is.
  std::function<void(std::uint32_t mount, const std::string& point)> fill;
  // Takes the mount that has been made before the tree was, if one has: detached.
  std::function<UniqueFd(std::uint32_t mount)> part;
  // What the namespace's owner calls a user of the initial user namespace, or a group; nothing: it has no
  // number.
  std::function<std::optional<std::uint32_t>(std::uint32_t id, bool group)> number;
  // Does the job use something at `place`, or below it?
  std::function<bool(const std::string& place)> uses;
};
// The mount of that type at `point`, and with that number where it is not 0, by a descriptor (O_PATH):
// whoever may change a directory on the way may have the path lead elsewhere at any moment.  Throws Error
// (ESTALE).
[[nodiscard]] UniqueFd open_mount(const std::string& point, const std::string& type, std::uint32_t id = 0);

// Several mounts of one new file system are made before the tree is: it may come in any order.
// Those of `tree.mounts` that show again what `first`, a new one, does.
[[nodiscard]] std::vector<std::size_t> shown_again(const MountTree& tree, const Mount& first);
// By a process that is going to end: a new file system, with what is in it, as a detached mount.  Throws
// Error.
[[nodiscard]] UniqueFd new_file_system(const Mount& wanted, const MountHelp& help);
// The same: the file system once more, and the part of it with the root `root`.  Throws Error.
[[nodiscard]] FdPair file_system_and_part(const UniqueFd& whole, const std::string& root);

// A mount namespace of the job, and what it is made as a copy of.
struct MountsToBuild {
  const MountTree& tree;
  const MountTree* base;  // of another one of the job; nullptr: cr_restart's
  bool changes_root;      // its root directory is another one than that has
};
[[nodiscard]] MountsToBuild mounts_to_build(const Context& context, std::uint32_t ns);

// In a copy, that the caller has just got: what the job had.  Proc file systems of other pid namespaces are
// left to the first processes there that are in these.  Throws Error.
void build_mounts(const MountsToBuild& wanted, const MountHelp& help);
// By the first process of `pid_ns` in the mount namespace: those.  Throws Error.
void build_late_mounts(const MountsToBuild& wanted, const MountHelp& help, std::uint32_t pid_ns);
// The first of those that are to be made of what is outside of the root directory by then; nullptr: none.
[[nodiscard]] const Mount* out_of_reach_later(const MountsToBuild& wanted);
[[nodiscard]] bool has_late_mounts(const MountTree& tree, std::uint32_t pid_ns);

// The mount namespace of the job of which `ns` is made as a copy: that of the process which its first one was
// forked by, or of one above that, whose owner may own what is copied from it.  0: cr_restart's.
[[nodiscard]] std::uint32_t copied_from(const Context& context, std::uint32_t ns);
// Of `tree.mounts`, that which has the root directory.
[[nodiscard]] std::size_t root_mount(const MountTree& tree);
// What of `tree` a copy of `base` does not have; nullptr: nothing.
[[nodiscard]] const Mount* missing_in(const MountTree& tree, const MountTree& base);

// cr_restart's own /proc, of `now`, where that is mounted over another one, `found`, which is there as the
// job had `wanted`, and the job had nothing of the kind over it: it stands for both, as with --pid-ns.
// Otherwise `found`.
[[nodiscard]] const Mount& proc_over(const std::vector<Mount>& now, const Mount& found, const MountTree& tree,
                                     const Mount& wanted);

// Does anything of the job in the mount namespace `ns` lie at `place`, or below it?
[[nodiscard]] bool uses_place(const Context& context, std::uint32_t ns, const std::string& place);
// Where in the namespace a mount is going to be that is at `point` in what it is made of: there, unless the
// root directory is another one, and with each bind mount that it is a part of.
[[nodiscard]] std::vector<std::string> places_in(const MountsToBuild& wanted,
                                                 const std::vector<Mount>& sources, const std::string& point);
// Can what is mounted at `point`, where `ns` is copied from, be left there without hiding anything of the
// job?
[[nodiscard]] bool may_stay(const Context& context, std::uint32_t ns, const std::string& point);

// Where what `wanted` shows is to be had, of `mounts`; nothing: nowhere.
[[nodiscard]] std::optional<std::string> source_path(const std::vector<Mount>& mounts, const Mount& wanted);

// Where cr_restart finds what a file's path leads to; nothing: nowhere before the namespace is there.
[[nodiscard]] std::optional<std::string> outer_path(const Context& context, std::uint32_t mnt,
                                                    const std::string& path);
[[nodiscard]] std::optional<std::string> outer_path(const Context& context, const File& file);
// The same of where the user says that it is now: it is inside of the namespace that the restart looks there.
[[nodiscard]] std::optional<std::string> outer_path(const Context& context, const Relocations& relocations,
                                                    const File& file);
// Of which pid namespace of the context a file of /proc tells; 0: the requester's.
[[nodiscard]] std::uint32_t proc_namespace_of(const Context& context, const File& file);
// Is it on a mount that only the processes of the job can make?
[[nodiscard]] bool lies_on_late_mount(const Context& context, const File& file);

}  // namespace cryo
