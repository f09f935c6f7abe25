// SPDX-License-Identifier: GPL-2.0-only
#include "restart/rights/rights_kept.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "restart/stub/stub.h"

namespace cryo {
namespace {

OwnIds ids_of(const ThreadCredentials& own) {
  return {own.uid, own.euid, own.gid, own.egid};
}

OwnIds ids_for(const ThreadCredentials& own, const Rights& rights, Extent extent) {
  OwnIds ids = ids_of(own);
  if (rights.effective) ids.euid = rights.uid;
  if (!rights.ids || extent == Extent::kFiles) return ids;
  ids.euid = rights.ids->euid;
  ids.egid = rights.ids->egid;
  if (extent == Extent::kMaker) ids.uid = rights.ids->uid, ids.gid = rights.ids->gid;
  return ids;
}

bool has_groups(const Rights& rights, const ThreadCredentials& own) {
  return !rights.groups || std::ranges::equal(*rights.groups, own.groups);
}

bool has_already(const ThreadCredentials& own, const Rights& rights, Extent extent) {
  return (own.permitted & rights.capabilities) == own.effective && rights.uid == own.fsuid &&
         rights.gid == own.fsgid && ids_for(own, rights, extent) == ids_of(own) && has_groups(rights, own);
}

}  // namespace

// With all that is permitted in effect.  The kernel takes that from who has been root and has no id of root's
// any more.
bool RightsKept::set_all(const Rights& rights, const OwnIds& ids) const {
  const bool others = ids != ids_of(before_);
  if (!has_groups(rights, before_) && !set_groups(*rights.groups)) return false;
  if (others && (!set_gids(ids.gid, ids.egid, kAsk) ||
                 !set_uids(ids.uid, ids.euid, before_.suid == 0 ? kAsk : before_.euid)))
    return false;
  // What of it went with the effective user.
  if (others && !set_capabilities(before_.permitted, before_.permitted, before_.inheritable)) return false;
  set_fsgid(rights.gid);
  set_fsuid(rights.uid);
  errno = EPERM;
  return set_fsgid(kAsk) == rights.gid && set_fsuid(kAsk) == rights.uid &&
         set_capabilities(before_.permitted & rights.capabilities, before_.permitted, before_.inheritable);
}

bool RightsKept::take(const Rights& rights, Extent extent) {
  const ThreadCredentials& own = thread_credentials();
  if (own.permitted == 0 || has_already(own, rights, extent)) return true;
  before_ = own;
  const OwnIds ids = ids_for(before_, rights, extent);
  steady_.emplace();
  changed_ = true;
  for_good_ = rights.for_good;
  other_ids_ = ids != ids_of(before_);
  if (!set_capabilities(before_.permitted, before_.permitted, before_.inheritable) || !set_all(rights, ids)) {
    const int error = errno;
    restore();
    changed_ = false;
    errno = error;
    return false;
  }
  if (other_ids_)
    steady_->steady_unseen();
  else
    steady_->steady();
  return true;
}

void RightsKept::restore() {
  // Nothing of it can fail: all of it was so before, and the capabilities are still permitted.
  bool good = set_capabilities(before_.permitted, before_.permitted, before_.inheritable);
  if (other_ids_) {  // those that have no number in a user namespace cannot be set
    good &= set_gids(before_.gid, before_.egid, before_.sgid) &&
            set_uids(before_.uid, before_.euid, before_.suid);
    good &= set_capabilities(before_.permitted, before_.permitted, before_.inheritable);
  }
  if (!for_good_) {
    set_fsuid(before_.fsuid);
    set_fsgid(before_.fsgid);
    good &= own_groups() == before_.groups || set_groups(before_.groups);
    good &= set_fsuid(kAsk) == before_.fsuid && set_fsgid(kAsk) == before_.fsgid;
  }
  good &= set_capabilities(before_.effective, before_.permitted, before_.inheritable);
  if (!good) ::_exit(stub::kFailureStatus);
  if (!for_good_) remember_thread_credentials(std::move(before_));
  steady_->steady();
}

RightsKept::~RightsKept() {
  if (!changed_) return;
  const int error = errno;
  restore();
  errno = error;
}

}  // namespace cryo
