// SPDX-License-Identifier: GPL-2.0-only
// Which mounts of a namespace see what is mounted in others of it: peers, and slaves of these.
//
// A group is made again by one of its mounts, which shows all that the others do: these join it
// (MOVE_MOUNT_SET_GROUP of move_mount(2), since Linux 5.15).  Who is in a group outside of the namespace, or
// a slave of one, is not seen to here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/unique_fd.h"
#include "context/model.h"

namespace cryo {

class MountGroups {
 public:
  explicit MountGroups(const MountTree& tree);

  // Is it a slave of what is outside?
  [[nodiscard]] bool has_outer_master(const Mount& mount) const;
  // Is it in a group with others of the namespace, or a slave or master of some?
  [[nodiscard]] bool has_relative(const Mount& mount) const;
  // Of all of these, which are private, or slaves of what is outside: by their index in the tree.  Throws
  // Error.
  void restore(const std::map<std::size_t, UniqueFd>& mounts) const;

 private:
  struct Group {
    std::size_t widest = 0;  // mount
    std::size_t members = 0;
    bool has_slaves = false;
  };

  [[nodiscard]] bool is_here(std::uint32_t group) const { return groups_.contains(group); }
  void make_group(const Group& group, const std::map<std::size_t, UniqueFd>& mounts) const;
  void make_slave(std::size_t mount, const std::map<std::size_t, UniqueFd>& mounts) const;

  const MountTree& tree_;
  std::map<std::uint32_t, Group> groups_;  // by number
};

}  // namespace cryo
