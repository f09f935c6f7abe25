// SPDX-License-Identifier: GPL-2.0-only
#include "restart/ns/namespaces.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "restart/common/helper_process.h"
#include "restart/common/proc_files.h"
#include "restart/ns/mounts.h"
#include "restart/ns/namespace_contents.h"
#include "restart/ns/reach.h"
#include "restart/rights/act_as.h"
#include "restart/rights/credentials.h"
#include "restart/rights/names.h"
#include "restart/rights/thread_ids.h"

namespace cryo {
namespace {

const char* name_of(std::uint32_t type) {
  switch (type) {
    case CLONE_NEWUSER:
      return "self/ns/user";
    case CLONE_NEWUTS:
      return "self/ns/uts";
    case CLONE_NEWIPC:
      return "self/ns/ipc";
    case CLONE_NEWNET:
      return "self/ns/net";
    case CLONE_NEWCGROUP:
      return "self/ns/cgroup";
    case CLONE_NEWNS:
      return "self/ns/mnt";
    case CLONE_NEWPID:
      return "self/ns/pid";
    default:
      return "self/ns/time_for_children";
  }
}

UniqueFd own_namespace(std::uint32_t type) {
  UniqueFd fd = open_proc(name_of(type));
  if (!fd) fail_errno("cannot open /proc/{}", name_of(type));
  return fd;
}

void fill(const Namespace& ns) {
  if (ns.uts) fill_uts(*ns.uts);
  if (ns.ipc) fill_ipc(*ns.ipc);
  if (ns.net) fill_net(*ns.net);
  fill_settings(ns.settings);
  if (ns.time) set_clocks({ns.time->monotonic_ns, ns.time->boottime_ns});
}

// What a user or group outside of all is called in the user namespace `ns`.
std::optional<std::uint32_t> number_in(const Context& context, std::uint32_t ns, std::uint32_t id,
                                       bool group) {
  if (ns == 0) return id;
  const Namespace& user = context.namespaces.at(ns);
  const auto above = number_in(context, user.head.owner, id, group);
  for (const cryo_id_range& range : group ? user.gids : user.uids)
    if (above && *above >= range.lower_first && *above - range.lower_first < range.count)
      return range.first + (*above - range.lower_first);
  return {};
}

constexpr gid_t kNoGroup = 65534;

void become_with_capabilities(uid_t uid) {
  const Creds own = own_credentials();
  if (::prctl(PR_SET_KEEPCAPS, 1) != 0 || !set_uids(uid, uid, uid))
    fail_errno("cannot become user {}, who made its user namespace", uid);
  if (!set_capabilities(own.head.cap_permitted, own.head.cap_permitted, 0))
    fail_errno("cannot keep the capabilities of user {}", own.head.euid);
}

}  // namespace

Namespaces::Namespaces(const Context& context, const Descriptors& descriptors)
    : context_(context), descriptors_(descriptors), own_uid_(::geteuid()) {}

void Namespaces::join(std::uint32_t id) const {
  const std::uint32_t type = context_.namespaces.at(id).head.type;
  if (!enter_namespace(fds_.at(id).get(), static_cast<int>(type)))
    fail_errno("cannot enter the {} namespace", namespace_name(type));
}

void Namespaces::join_with_owner(std::uint32_t id) const {
  join_users(context_.namespaces.at(id).head.owner);
  join(id);
}

bool Namespaces::knows_user(std::uint32_t ns) const {
  return number_in(context_, ns, own_uid_, false).has_value();
}

// Before that, by root, as what cannot be changed inside counts there, too: root's groups, and its user and
// group where nobody, or none, has a number. Root keeps its capabilities until it joins.
void Namespaces::leave_own_ids(std::uint32_t user) const {
  if (user == 0 || knows_user(user)) return;
  const Namespace& ns = context_.namespaces.at(user);
  const uid_t owner = ns.user->owner_uid;
  if (owner == own_uid_) return;
  const bool has_number = number_in(context_, user, owner, false).has_value();
  if (!set_groups({}) || (ns.gids.empty() && !set_gids(kNoGroup, kNoGroup, kNoGroup)))
    fail_errno("cannot give up the groups before entering the user namespace of user {}", owner);
  if (!has_number) become_with_capabilities(owner);
}

// Who has no number in the user namespace `user`, as root has none in an ordinary user's, can make neither
// files nor namespaces there: for these he becomes the user `uid` of cr_restart's.
void Namespaces::act_as(std::uint32_t user, std::uint32_t uid) const {
  const Namespace& ns = context_.namespaces.at(user);
  const auto number = number_in(context_, user, uid, false);
  if (knows_user(user) || !number) return;
  const gid_t group = ns.gids.empty() ? kAsk : ns.gids.front().first;
  if (!set_gids(group, group, group) || !set_uids(*number, *number, *number))
    fail_errno("cannot become user {}, who made its user namespace", uid);
}

// For one who makes something there, and ends.
void Namespaces::join_users(std::uint32_t id) const {
  if (id == 0) return;
  leave_own_ids(id);
  join(id);
  act_as(id, context_.namespaces.at(id).user->owner_uid);
}

// A socket is where it was made, whatever is done with it from elsewhere.  In a user namespace of the job it
// is that of the one who owns it.
UniqueFd Namespaces::socket(std::uint32_t net, int family, int type, int protocol, std::uint64_t also) const {
  const auto make = [&] {
    UniqueFd fd(as_maker([&] { return ::socket(family, type | SOCK_CLOEXEC, protocol); }, also));
    if (!fd) fail_errno("cannot create a socket of family {}, protocol {}", family, protocol);
    return fd;
  };
  if (net == 0) return make();
  return in_helper_process([&] {
    join_with_owner(net);
    std::optional<OwnNames> own;
    if (context_.namespaces.at(net).head.owner != 0) own.emplace();
    return make();
  });
}

FdPair Namespaces::socket_pair(std::uint32_t net, int type, std::uint32_t uid, std::uint32_t gid) const {
  const auto make = [&] {
    int fds[2];
    const ActAs user(context_, uid, gid);
    if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) != 0)
      fail_errno("cannot create a pair of sockets");
    return FdPair(UniqueFd(fds[0]), UniqueFd(fds[1]));
  };
  if (net == 0) return make();
  return pair_from_elsewhere([&] {
    join_with_owner(net);
    return make();
  });
}

// Another open file than the one by which processes enter it.
UniqueFd Namespaces::file_of(std::uint32_t id, std::uint32_t type) const {
  if (id == 0) return own_namespace(type);
  UniqueFd fd = open_proc(fmt::format("self/fd/{}", fds_.at(id).get()));
  if (!fd) fail_errno("cannot open the {} namespace again", namespace_name(type));
  return fd;
}

UniqueFd Namespaces::made_user(const Namespace& ns) const {
  return in_helper_process([&] {
    leave_own_ids(ns.head.owner);
    if (ns.head.owner != 0) join(ns.head.owner);
    unshare_users(ns, [&] { act_as(ns.head.owner, ns.user->owner_uid); });
    return own_namespace(CLONE_NEWUSER);
  });
}

// Those that only a process of the job can mount are left to that.
void Namespaces::make_parts(std::uint32_t id) {
  const Namespace& ns = context_.namespaces.at(id);
  for (std::size_t i = 0; i < ns.mnt->kinds.size(); ++i) {
    if (ns.mnt->kinds[i].kind != CRYO_MOUNT_NEW || ns.mnt->kinds[i].pid_ns != 0) continue;
    std::vector<std::pair<std::uint32_t, std::size_t>> again;
    for (const auto& [other, space] : context_.namespaces)
      if (space.mnt && (other == id || ns.mnt->mounts[i].type != "proc"))
        for (const std::size_t part : shown_again(*space.mnt, ns.mnt->mounts[i]))
          again.emplace_back(other, part);
    const bool root = mounts_to_build(context_, id).changes_root && i == root_mount(*ns.mnt);
    if (again.empty() && !root) continue;
    UniqueFd whole = descriptors_.park(in_helper_process([&] {
      join_users(ns.head.owner);
      return new_file_system(ns.mnt->mounts[i], mount_help(id));
    }));
    for (const auto& [other, part] : again) {
      const MountTree& tree = *context_.namespaces.at(other).mnt;
      FdPair both = pair_from_elsewhere([&] {
        join_users(ns.head.owner);
        return file_system_and_part(whole, tree.mounts[part].root);
      });
      whole = descriptors_.park(std::move(both.first));
      parts_[{other, tree.kinds[part].id}] = descriptors_.park(std::move(both.second));
    }
    parts_[{id, ns.mnt->kinds[i].id}] = std::move(whole);
  }
}

UniqueFd Namespaces::made(std::uint32_t id) const {
  const Namespace& ns = context_.namespaces.at(id);
  if (ns.user) return made_user(ns);
  return in_helper_process([&] {
    if (!ns.cgroup.empty()) enter_cgroup_root(ns.cgroup);
    const std::uint32_t base = ns.mnt ? copied_from(context_, id) : 0;
    const std::uint32_t owner = base == 0 ? 0 : context_.namespaces.at(base).head.owner;
    // The clocks are set through a file of the process, which stays that of the old user.
    if (!ns.time) leave_own_ids(ns.head.owner);
    if (owner != 0) join(owner);
    if (base != 0) join(base);
    if (ns.head.owner != owner) join(ns.head.owner);
    if (ns.head.owner != 0 && !ns.time)
      act_as(ns.head.owner, context_.namespaces.at(ns.head.owner).user->owner_uid);
    if (!make_namespaces(static_cast<int>(ns.head.type)))
      fail_errno("cannot create a {} namespace", namespace_name(ns.head.type));
    fill(ns);
    if (ns.mnt) build_mounts(mounts_to_build(context_, id), mount_help(id));
    return own_namespace(ns.head.type);
  });
}

// Its owner has to be there before, and the mount namespace of which it is made as a copy.
void Namespaces::make_one(std::uint32_t id) {
  if (id == 0 || fds_.contains(id)) return;
  make_one(context_.namespaces.at(id).head.owner);
  if (context_.namespaces.at(id).mnt) make_one(copied_from(context_, id));
  // A pid namespace begins with its first process.
  if (context_.namespaces.at(id).head.type == CLONE_NEWPID || is_for_children(context_, id)) return;
  fds_.emplace(id, descriptors_.park(made(id)));
  if (context_.namespaces.at(id).mnt) roots_.emplace(id, descriptors_.park(root_of(id)));
}

// Of a mount namespace: for those who cannot enter it.
UniqueFd Namespaces::root_of(std::uint32_t id) const {
  return in_helper_process([&] {
    join_with_owner(id);
    UniqueFd fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd) fail_errno("cannot open the root directory of the mount namespace");
    return fd;
  });
}

UniqueFd Namespaces::inside_ipc(std::uint32_t id, const std::function<UniqueFd()>& work) const {
  return in_helper_process([&] {
    join_with_owner(id);
    return work();
  });
}

UniqueFd Namespaces::inside_mounts(std::uint32_t id, const std::function<UniqueFd()>& work) const {
  return in_helper_process([&] {
    join_with_owner(id);
    std::optional<OwnNames> own;
    if (context_.namespaces.at(id).head.owner != 0) own.emplace();
    return work();
  });
}

std::uint32_t Namespaces::id_inside(std::uint32_t ns, std::uint32_t id, bool group) const {
  const auto inside = number_in(context_, context_.namespaces.at(ns).head.owner, id, group);
  if (!inside) fail(EOVERFLOW, "{} {} has no number in its ipc namespace", group ? "group" : "user", id);
  return *inside;
}

MountHelp Namespaces::mount_help(std::uint32_t id) const {
  return {[this, id](std::uint32_t mount, const std::string& point) { fill_(id, mount, point); },
          // The process that takes it has a copy of this object.
          [this, id](std::uint32_t mount) {
            const auto part = parts_.find({id, mount});
            return part == parts_.end() ? UniqueFd()
                                        : UniqueFd(::fcntl(part->second.get(), F_DUPFD_CLOEXEC, 3));
          },
          [this, owner = context_.namespaces.at(id).head.owner](std::uint32_t number, bool group) {
            return number_in(context_, owner, number, group);
          },
          [this, id](const std::string& place) { return uses_place(context_, id, place); }};
}

void Namespaces::make(FillMount fill) {
  fill_ = std::move(fill);
  for (const auto& [id, ns] : context_.namespaces)
    if (ns.user) make_one(id);
  for (const auto& [id, ns] : context_.namespaces)
    if (ns.mnt) make_parts(id);
  for (const auto& [id, ns] : context_.namespaces) make_one(id);
  parts_.clear();
}

// Of the user namespace `user`, by a process that is in it.
void Namespaces::make_time_for_children(const cryo_namespaces& from, const cryo_namespaces& to,
                                        std::uint32_t user) const {
  const std::uint32_t id = to.time_for_children;
  if (id == to.time || id == from.time_for_children || owner_of(context_, id) != user) return;
  if (!make_namespaces(CLONE_NEWTIME)) fail_errno("cannot create a time namespace");
  fill(context_.namespaces.at(id));
}

void Namespaces::mount_late(const cryo_namespaces& to) const {
  build_late_mounts(mounts_to_build(context_, to.mnt), mount_help(to.mnt), to.pid);
}

// There is no way back up: what those own who are not on the way down, but below somebody who is, is entered
// before it is too late for that.
void Namespaces::enter(const cryo_namespaces& from, const cryo_namespaces& to, bool first) const {
  if (const auto type = out_of_reach(context_, from, to))
    fail(EOPNOTSUPP, "its {} namespace cannot be entered from those of its parent", namespace_name(*type));
  std::vector<std::uint32_t> users;  // on the way down, the last one first
  for (std::uint32_t at = to.user; at != from.user; at = owner_of(context_, at)) users.push_back(at);
  bool mounts = first && to.mnt != 0 && has_late_mounts(*context_.namespaces.at(to.mnt).mnt, to.pid);
  for (std::uint32_t user = from.user;; user = users.back(), users.pop_back()) {
    if (user != from.user) join(user);
    const auto is_here = [&](std::uint32_t id) {
      const std::uint32_t owner = owner_of(context_, id);
      return is_below(context_, owner, user) && (users.empty() || !is_below(context_, owner, users.back()));
    };
    for (const Membership& one : memberships())
      if (to.*one.of != from.*one.of && is_here(to.*one.of)) join(to.*one.of);
    make_time_for_children(from, to, user);
    // Only there, and only now, may it mount anything.
    if (mounts && is_here(to.mnt)) {
      mount_late(to);
      mounts = false;
    }
    if (users.empty()) break;
  }
  if (mounts) fail(EOPNOTSUPP, "cannot mount in its mount namespace any more");
}

void continue_clocks(const Context& context) {
  if (!make_namespaces(CLONE_NEWTIME)) fail_errno("cannot create a time namespace");
  set_clocks({static_cast<std::int64_t>(context.system.monotonic_ns),
              static_cast<std::int64_t>(context.system.boottime_ns)});
  const UniqueFd fd = own_namespace(CLONE_NEWTIME);
  if (!enter_namespace(fd.get(), CLONE_NEWTIME)) fail_errno("cannot enter the time namespace");
}

}  // namespace cryo
