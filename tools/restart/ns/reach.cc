// SPDX-License-Identifier: GPL-2.0-only
#include "restart/ns/reach.h"

#include <sched.h>

#include <algorithm>

namespace cryo {

const std::array<Membership, kMemberships>& memberships() {
  // Who has entered a mount namespace sees other files: last.
  static constexpr std::array<Membership, kMemberships> kAll{{{CLONE_NEWUTS, &cryo_namespaces::uts},
                                                              {CLONE_NEWIPC, &cryo_namespaces::ipc},
                                                              {CLONE_NEWNET, &cryo_namespaces::net},
                                                              {CLONE_NEWCGROUP, &cryo_namespaces::cgroup},
                                                              {CLONE_NEWTIME, &cryo_namespaces::time},
                                                              {CLONE_NEWNS, &cryo_namespaces::mnt}}};
  return kAll;
}

std::uint32_t owner_of(const Context& context, std::uint32_t id) {
  return id == 0 ? 0 : context.namespaces.at(id).head.owner;
}

bool is_below(const Context& context, std::uint32_t user, std::uint32_t top) {
  for (; user != top; user = context.namespaces.at(user).head.owner)
    if (user == 0) return false;
  return true;
}

cryo_namespaces at_birth(cryo_namespaces from) {
  from.time = from.time_for_children;
  return from;
}

namespace {

// unshare(2) makes it, of the user namespace that the process is in by then.  setns(2) changes it, too.
bool can_make_time(const Context& context, const cryo_namespaces& from, const cryo_namespaces& to) {
  const std::uint32_t id = to.time_for_children;
  if (id == to.time || (id == from.time_for_children && to.time == from.time)) return true;
  if (id == 0 || id == from.time_for_children || !is_below(context, to.user, owner_of(context, id)) ||
      !is_below(context, owner_of(context, id), from.user))
    return false;
  // To enter one that is owned farther down comes later, and would undo it.
  for (std::uint32_t user = to.user; to.time != from.time && user != owner_of(context, id);
       user = owner_of(context, user))
    if (is_below(context, owner_of(context, to.time), user)) return false;
  return true;
}

}  // namespace

std::optional<std::uint32_t> out_of_reach(const Context& context, const cryo_namespaces& from,
                                          const cryo_namespaces& to) {
  if (!is_below(context, to.user, from.user)) return CLONE_NEWUSER;
  for (const Membership& one : memberships()) {
    const std::uint32_t id = to.*one.of;
    if (id == from.*one.of) continue;
    if (id == 0 || !is_below(context, owner_of(context, id), from.user)) return one.type;
    // Nobody enters one that was made for children: they are forked into it.
    if (one.type == CLONE_NEWTIME && is_for_children(context, id)) return one.type;
  }
  if (!can_make_time(context, from, to)) return CLONE_NEWTIME;
  return {};
}

bool can_be_forked(const Context& context, const cryo_namespaces& forker, const cryo_namespaces& child) {
  return !out_of_reach(context, at_birth(forker), child);
}

cryo_namespaces down_to(const Context& context, const cryo_namespaces& from, const cryo_namespaces& to,
                        std::uint32_t user) {
  cryo_namespaces there = from;
  there.user = user;
  for (const Membership& one : memberships())
    if (!is_below(context, owner_of(context, to.*one.of), user)) there.*one.of = to.*one.of;
  if (there.time != from.time) there.time_for_children = there.time;
  return there;
}

bool is_entered_from_outside(const Context& context, const cryo_namespaces& to, const Membership& one) {
  const std::uint32_t owner = owner_of(context, to.*one.of);
  if (owner == 0 || is_below(context, to.user, owner)) return false;
  std::uint32_t top = to.user;
  while (!is_below(context, owner, top)) top = owner_of(context, top);
  return top == 0;
}

bool is_for_children(const Context& context, std::uint32_t ns) {
  return std::any_of(context.processes.begin(), context.processes.end(), [ns](const Process& process) {
    return process.namespaces.time_for_children == ns && process.namespaces.time != ns;
  });
}

}  // namespace cryo
