// SPDX-License-Identifier: GPL-2.0-only
#include "restart/rights/rights.h"

#include <linux/capability.h>

#include <algorithm>

#include "restart/rights/credentials.h"

namespace cryo {
namespace {

constexpr std::uint32_t kNobodyOutside = 65534;

// The user that made the outermost of its user namespaces.
std::uint32_t maker_of(const Context& context, std::uint32_t ns) {
  while (context.namespaces.at(ns).head.owner != 0) ns = context.namespaces.at(ns).head.owner;
  return context.namespaces.at(ns).user->owner_uid;
}

bool is_group_of(const Rights& rights, std::uint32_t group) {
  return rights.gid == group || (rights.groups && std::find(rights.groups->begin(), rights.groups->end(),
                                                            group) != rights.groups->end());
}

}  // namespace

// In the parent of the user namespace `ns`, and so on up to cr_restart's.
std::optional<std::uint32_t> number_outside(const Context& context, std::uint32_t ns, std::uint32_t id,
                                            bool group) {
  while (ns != 0) {
    const Namespace& space = context.namespaces.at(ns);
    const std::vector<cryo_id_range>& ranges = group ? space.gids : space.uids;
    const auto range = std::find_if(ranges.begin(), ranges.end(), [id](const cryo_id_range& other) {
      return id >= other.first && id - other.first < other.count;
    });
    if (range == ranges.end()) return {};
    id = range->lower_first + (id - range->first);
    ns = space.head.owner;
  }
  return id;
}

std::optional<std::uint32_t> number_inside(const Context& context, std::uint32_t ns, std::uint32_t id) {
  if (ns == 0) return id;
  const Namespace& space = context.namespaces.at(ns);
  const auto lower = number_inside(context, space.head.owner, id);
  if (!lower) return {};
  for (const cryo_id_range& range : space.uids)
    if (*lower >= range.lower_first && *lower - range.lower_first < range.count)
      return range.first + (*lower - range.lower_first);
  return {};
}

bool is_of_user(const Context& context, const Process& process, std::uint32_t uid) {
  const cryo_creds& head = process.creds->head;
  for (const std::uint32_t id : {head.uid, head.euid, head.suid, head.fsuid})
    if (number_outside(context, process.namespaces.user, id, false) != uid) return false;
  return true;
}

bool may_read(const Rights& rights, const cryo_inode& inode) {
  constexpr std::uint64_t kAny = (1U << CAP_DAC_OVERRIDE) | (1U << CAP_DAC_READ_SEARCH);
  if ((rights.capabilities & kAny) != 0) return true;
  if (rights.uid == inode.uid) return true;  // he may change the mode
  return (inode.mode & (is_group_of(rights, inode.gid) ? 0040 : 0004)) != 0;
}

Rights rights_of(const Context& context, const Process& process) {
  if (process.namespaces.user == 0) return rights_inside(context, process);
  const std::uint32_t ns = process.namespaces.user;
  const cryo_creds& head = process.creds->head;
  Rights rights;
  rights.uid = number_outside(context, ns, head.fsuid, false).value_or(maker_of(context, ns));
  rights.gid = number_outside(context, ns, head.fsgid, true).value_or(kNobodyOutside);
  rights.groups.emplace();
  if (process.outer_groups) {
    rights.groups = *process.outer_groups;
  } else {
    for (const std::uint32_t group : process.creds->groups)
      if (const auto outside = number_outside(context, ns, group, true)) rights.groups->push_back(*outside);
    std::sort(rights.groups->begin(), rights.groups->end());
  }
  const auto outside = [&](std::uint32_t id, bool group, std::uint32_t otherwise) {
    return number_outside(context, ns, id, group).value_or(otherwise);
  };
  rights.ids = {outside(head.uid, false, rights.uid), outside(head.euid, false, rights.uid),
                outside(head.gid, true, rights.gid), outside(head.egid, true, rights.gid)};
  return rights;
}

Rights rights_of_user(const Context& context, std::uint32_t uid, std::uint32_t gid) {
  for (const Process& process : context.processes) {
    if (!process.creds || process.namespaces.user != 0) continue;
    if (process.creds->head.euid == uid && process.creds->head.egid == gid)
      return rights_of(context, process);
  }
  return {uid, gid, std::vector<std::uint32_t>{}, 0, false, false, OwnIds{uid, uid, gid, gid}};
}

Rights ipc_rights_of(const Context& context, const Process& process) {
  Rights rights = rights_of(context, process);
  rights.effective = true;
  const std::uint32_t ns = process.namespaces.user;
  if (const auto uid = number_outside(context, ns, process.creds->head.euid, false))
    rights.uid = *uid;
  else
    rights.uid = maker_of(context, ns);
  return rights;
}

Rights rights_inside(const Context& context, const Process& process) {
  const cryo_creds& head = process.creds->head;
  Rights rights{head.fsuid, head.fsgid, process.creds->groups, head.cap_effective, false, false};
  // Its former ids outside may have no number to return to.
  rights.for_good = process.namespaces.user != 0;
  if (!rights.for_good) rights.ids = {head.uid, head.euid, head.gid, head.egid};
  // Those it has been given before it entered.
  if (needs_outer_groups(context, process)) rights.groups.reset();
  return rights;
}

}  // namespace cryo
