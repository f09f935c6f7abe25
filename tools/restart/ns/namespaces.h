// SPDX-License-Identifier: GPL-2.0-only
// Namespaces that cr_restart is not in: made anew by the maker, entered by each process that was in them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/unique_fd.h"
#include "context/model.h"
#include "restart/common/descriptors.h"
#include "restart/common/findings.h"
#include "restart/common/helper_process.h"
#include "restart/common/options.h"
#include "restart/ns/mounts.h"

namespace cryo {

class Namespaces {
 public:
  Namespaces(const Context& context, const Descriptors& descriptors);

  // All of the context, with what they hold; none of them is entered.  `fill` puts what the context has of
  // the tmpfs `mount` of the mount namespace `ns` into it, at `point`.  Throws Error.
  using FillMount = std::function<void(std::uint32_t ns, std::uint32_t mount, const std::string& point)>;
  void make(FillMount fill);
  // From those of one process of the context into those of another, for the calling process, which has a
  // single thread; `first`: which is the first one of the pid namespace `to.pid` in `to.mnt`.  Throws Error.
  void enter(const cryo_namespaces& from, const cryo_namespaces& to, bool first = false) const;
  // In the network namespace `net`, 0: here.  Throws Error.
  // `also`: capabilities that this takes.
  [[nodiscard]] UniqueFd socket(std::uint32_t net, int family, int type, int protocol,
                                std::uint64_t also = 0) const;
  // By the user whom SO_PEERCRED is to show.
  [[nodiscard]] FdPair socket_pair(std::uint32_t net, int type, std::uint32_t uid, std::uint32_t gid) const;
  // A descriptor of the namespace `id`, or of cr_restart's own one of this type.  Throws Error.
  [[nodiscard]] UniqueFd file_of(std::uint32_t id, std::uint32_t type) const;
  // Calls `work` in the ipc namespace `id`, as in helper_process.h.
  [[nodiscard]] UniqueFd inside_ipc(std::uint32_t id, const std::function<UniqueFd()>& work) const;
  // The same in the mount namespace `id`; names there are those of who the caller says, or, in a user
  // namespace of the job, of who owns that.
  [[nodiscard]] UniqueFd inside_mounts(std::uint32_t id, const std::function<UniqueFd()>& work) const;
  // What user or group `id` of cr_restart's user namespace is called in that of who owns the namespace `ns`.
  [[nodiscard]] std::uint32_t id_inside(std::uint32_t ns, std::uint32_t id, bool group) const;
  // Whether cr_restart's user has a number in the user namespace `ns`.
  [[nodiscard]] bool knows_user(std::uint32_t ns) const;
  // Root directories of mount namespaces, parked; to be taken once.
  [[nodiscard]] std::map<std::uint32_t, UniqueFd> take_roots() { return std::move(roots_); }

 private:
  void make_one(std::uint32_t id);
  [[nodiscard]] MountHelp mount_help(std::uint32_t id) const;
  void make_time_for_children(const cryo_namespaces& from, const cryo_namespaces& to,
                              std::uint32_t user) const;
  void mount_late(const cryo_namespaces& to) const;
  [[nodiscard]] UniqueFd made(std::uint32_t id) const;
  void make_parts(std::uint32_t id);
  [[nodiscard]] UniqueFd made_user(const Namespace& ns) const;
  void join(std::uint32_t id) const;
  void join_with_owner(std::uint32_t id) const;
  void join_users(std::uint32_t id) const;
  void leave_own_ids(std::uint32_t user) const;
  void act_as(std::uint32_t user, std::uint32_t uid) const;
  [[nodiscard]] UniqueFd root_of(std::uint32_t id) const;

  const Context& context_;
  const Descriptors& descriptors_;
  FillMount fill_;
  std::uint32_t own_uid_;
  std::map<std::uint32_t, UniqueFd> fds_;  // parked
  std::map<std::uint32_t, UniqueFd> roots_;
  // Mounts that are made before the tree they belong to: namespace, number there.  Parked.
  std::map<std::pair<std::uint32_t, std::uint32_t>, UniqueFd> parts_;
};

// Moves the caller, and all that it forks, into a time namespace in which CLOCK_MONOTONIC and
// CLOCK_BOOTTIME show what they showed at the checkpoint.  Throws Error.
void continue_clocks(const Context& context);

// Of mount namespaces: that there is something to mount on.
void check_mount_points(const Context& context, Findings& findings);
// Whether all namespaces can be made and entered here.
// "; /proc/sys/... is 0" where an administrator has taken user namespaces away from users; empty else.
[[nodiscard]] std::string user_namespace_switch();
void check_namespaces(const Context& context, const RestartOptions& options, const Creds& own,
                      Findings& findings);

}  // namespace cryo
