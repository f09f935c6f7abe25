// SPDX-License-Identifier: GPL-2.0-only
#include "restart/rights/rights_kept.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "restart/rights/thread_ids.h"
#include "restart/stub/stub.h"

namespace cryo {

void RightsKept::read_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) fail_errno("capget");
  for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; ++i) {
    effective_ |= std::uint64_t{data[i].effective} << (32 * i);
    permitted_ |= std::uint64_t{data[i].permitted} << (32 * i);
    inheritable_ |= std::uint64_t{data[i].inheritable} << (32 * i);
  }
}

// In the order of what differs most often: each is a system call, and there are several for each file.
bool RightsKept::has_already(const Rights& rights, Extent extent) {
  if ((permitted_ & rights.capabilities) != effective_) return false;
  uid_ = set_fsuid(kAsk);
  gid_ = set_fsgid(kAsk);
  if (rights.uid != uid_ || rights.gid != gid_) return false;
  if (rights.effective || (rights.ids && extent != Extent::kFiles)) {
    read_ids();
    if (ids_for(rights, extent) != ids_) return false;
  }
  if (!rights.groups) return true;
  groups_ = own_groups();
  return *rights.groups == groups_;
}

void RightsKept::read_ids() {
  if (::getresuid(&ids_.uid, &ids_.euid, &suid_) != 0 || ::getresgid(&ids_.gid, &ids_.egid, &sgid_) != 0)
    fail_errno("cannot ask for the user and group ids");
}

OwnIds RightsKept::ids_for(const Rights& rights, Extent extent) const {
  OwnIds ids = ids_;
  if (rights.effective) ids.euid = rights.uid;
  if (!rights.ids || extent == Extent::kFiles) return ids;
  ids.euid = rights.ids->euid;
  ids.egid = rights.ids->egid;
  if (extent == Extent::kMaker) ids.uid = rights.ids->uid, ids.gid = rights.ids->gid;
  return ids;
}

// With all that is permitted in effect.  The kernel takes that from who has been root and has no id of root's
// any more.
bool RightsKept::set_all(const Rights& rights, const OwnIds& ids, std::uint64_t capabilities) const {
  if (rights.groups && *rights.groups != groups_ && !set_groups(*rights.groups)) return false;
  if (ids != ids_ &&
      (!set_gids(ids.gid, ids.egid, kAsk) || !set_uids(ids.uid, ids.euid, suid_ == 0 ? kAsk : ids_.euid)))
    return false;
  // What of it went with the effective user.
  if (ids != ids_ && !set_capabilities(permitted_, permitted_, inheritable_)) return false;
  set_fsgid(rights.gid);
  set_fsuid(rights.uid);
  errno = EPERM;
  return set_fsgid(kAsk) == rights.gid && set_fsuid(kAsk) == rights.uid &&
         set_capabilities(capabilities, permitted_, inheritable_);
}

bool RightsKept::take(const Rights& rights, Extent extent) {
  read_capabilities();
  if (permitted_ == 0 || has_already(rights, extent)) return true;
  uid_ = set_fsuid(kAsk);
  gid_ = set_fsgid(kAsk);
  read_ids();
  groups_ = own_groups();
  const std::uint64_t wanted = permitted_ & rights.capabilities;
  const OwnIds ids = ids_for(rights, extent);
  steady_.emplace();
  changed_ = true;
  for_good_ = rights.for_good;
  other_ids_ = ids != ids_;
  if (!set_capabilities(permitted_, permitted_, inheritable_) || !set_all(rights, ids, wanted)) {
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

void RightsKept::restore() const {
  // Nothing of it can fail: all of it was so before, and the capabilities are still permitted.
  bool good = set_capabilities(permitted_, permitted_, inheritable_);
  if (other_ids_) {  // those that have no number in a user namespace cannot be set
    good &= set_gids(ids_.gid, ids_.egid, sgid_) && set_uids(ids_.uid, ids_.euid, suid_);
    good &= set_capabilities(permitted_, permitted_, inheritable_);
  }
  if (!for_good_) {
    set_fsuid(uid_);
    set_fsgid(gid_);
    good &= own_groups() == groups_ || set_groups(groups_);
    good &= set_fsuid(kAsk) == uid_ && set_fsgid(kAsk) == gid_;
  }
  good &= set_capabilities(effective_, permitted_, inheritable_);
  if (!good) ::_exit(stub::kFailureStatus);
  steady_->steady();
}

RightsKept::~RightsKept() {
  if (!changed_) return;
  const int error = errno;
  restore();
  errno = error;
}

}  // namespace cryo
