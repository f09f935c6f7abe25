// SPDX-License-Identifier: GPL-2.0-only
#include "restart/ns/mount_groups.h"

#include <fcntl.h>
#include <sys/mount.h>

#include <set>

#include "base/error.h"

namespace cryo {
namespace {

constexpr unsigned int kSetGroup = 0x100;  // MOVE_MOUNT_SET_GROUP

void join(const Mount& mount, const UniqueFd& from, const UniqueFd& to) {
  if (::move_mount(from.get(), "", to.get(), "",
                   kSetGroup | MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
    fail_errno("mount {}: cannot restore its mount propagation", mount.point);
}

void set_propagation(const Mount& mount, const UniqueFd& fd, std::uint64_t propagation) {
  mount_attr attributes{};
  attributes.propagation = propagation;
  if (::mount_setattr(fd.get(), "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) != 0)
    fail_errno("mount {}: cannot restore its mount propagation", mount.point);
}

}  // namespace

// Earlier contexts have none: nothing was said of them then.
MountGroups::MountGroups(const MountTree& tree) : tree_(tree) {
  if (!tree.has_groups) return;
  for (std::size_t i = 0; i < tree.mounts.size(); ++i) {
    if (tree.mounts[i].shared == 0) continue;
    Group& group = groups_.try_emplace(tree.mounts[i].shared, Group{i}).first->second;
    ++group.members;
    if (tree.mounts[i].root.size() < tree.mounts[group.widest].root.size()) group.widest = i;
  }
  for (const Mount& mount : tree.mounts)
    if (mount.slave != 0 && is_here(mount.slave)) groups_.at(mount.slave).has_slaves = true;
}

bool MountGroups::has_outer_master(const Mount& mount) const {
  return mount.slave != 0 && !is_here(mount.slave);
}

bool MountGroups::has_relative(const Mount& mount) const {
  if (mount.slave != 0 && is_here(mount.slave)) return true;
  const auto group = groups_.find(mount.shared);
  return mount.shared != 0 && group != groups_.end() &&
         (group->second.members > 1 || group->second.has_slaves);
}

// Of the master's group, which it joins for that.
void MountGroups::make_slave(std::size_t mount, const std::map<std::size_t, UniqueFd>& mounts) const {
  const Mount& own = tree_.mounts[mount];
  const UniqueFd& fd = mounts.at(mount);
  join(own, mounts.at(groups_.at(own.slave).widest), fd);
  set_propagation(own, fd, MS_SLAVE);
}

void MountGroups::make_group(const Group& group, const std::map<std::size_t, UniqueFd>& mounts) const {
  const Mount& widest = tree_.mounts[group.widest];
  const UniqueFd& from = mounts.at(group.widest);
  if (widest.slave != 0 && is_here(widest.slave)) make_slave(group.widest, mounts);
  set_propagation(widest, from, MS_SHARED);
  for (std::size_t i = 0; i < tree_.mounts.size(); ++i) {
    const Mount& mount = tree_.mounts[i];
    if (mount.shared != widest.shared || i == group.widest) continue;
    if (has_outer_master(mount)) set_propagation(mount, mounts.at(i), MS_PRIVATE);  // it has its peers' then
    join(mount, from, mounts.at(i));
  }
}

// Masters come before their slaves.
void MountGroups::restore(const std::map<std::size_t, UniqueFd>& mounts) const {
  std::set<std::uint32_t> made;
  for (bool more = true; more;) {
    more = false;
    for (const auto& [number, group] : groups_) {
      const Mount& widest = tree_.mounts[group.widest];
      const bool waits = widest.slave != 0 && is_here(widest.slave) && !made.contains(widest.slave);
      if (made.contains(number) || waits || !has_relative(widest)) continue;
      make_group(group, mounts);
      made.insert(number);
      more = true;
    }
  }
  for (std::size_t i = 0; i < tree_.mounts.size(); ++i)
    if (tree_.mounts[i].shared == 0 && made.contains(tree_.mounts[i].slave)) make_slave(i, mounts);
}

}  // namespace cryo
