// SPDX-License-Identifier: GPL-2.0-only
#include "restart/credentials.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "restart/proc_files.h"

namespace cryo {
namespace {

using stub::Step;

constexpr int kLastCapability = 63;

std::uint64_t hex(const std::string& text) {
  return std::stoull(text, nullptr, 16);
}

bool same(const Creds& a, const Creds& b) {
  const cryo_creds& x = a.head;
  const cryo_creds& y = b.head;
  return x.uid == y.uid && x.euid == y.euid && x.suid == y.suid && x.fsuid == y.fsuid && x.gid == y.gid &&
         x.egid == y.egid && x.sgid == y.sgid && x.fsgid == y.fsgid &&
         x.cap_inheritable == y.cap_inheritable && x.cap_permitted == y.cap_permitted &&
         x.cap_effective == y.cap_effective && x.cap_ambient == y.cap_ambient &&
         (y.cap_bset & ~x.cap_bset) == 0 && x.securebits == y.securebits && a.groups == b.groups;
}

bool may_set_uid(const cryo_creds& own, std::uint32_t uid) {
  return uid == own.uid || uid == own.euid || uid == own.suid;
}

bool may_set_gid(const cryo_creds& own, std::uint32_t gid) {
  return gid == own.gid || gid == own.egid || gid == own.sgid;
}

// capset(2), for the calling thread.
void add_capset(CallList& calls, Room& room, std::uint64_t effective, std::uint64_t permitted,
                std::uint64_t inheritable) {
  auto* header = room.array<__user_cap_header_struct>(1);
  header->version = _LINUX_CAPABILITY_VERSION_3;
  header->pid = 0;
  auto* data = room.array<__user_cap_data_struct>(_LINUX_CAPABILITY_U32S_3);
  for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; ++i) {
    data[i].effective = static_cast<__u32>(effective >> (32 * i));
    data[i].permitted = static_cast<__u32>(permitted >> (32 * i));
    data[i].inheritable = static_cast<__u32>(inheritable >> (32 * i));
  }
  calls.add(Step::kCredentials, 6, SYS_capset, header, data);
}

}  // namespace

Creds own_credentials() {
  std::istringstream status(read_proc("self/status"));
  if (status.view().empty()) fail_errno("cannot read /proc/self/status");
  Creds own;
  for (std::string line; std::getline(status, line);) {
    std::istringstream fields(line);
    std::string name, value;
    fields >> name;
    cryo_creds& head = own.head;
    if (name == "Uid:") fields >> head.uid >> head.euid >> head.suid >> head.fsuid;
    if (name == "Gid:") fields >> head.gid >> head.egid >> head.sgid >> head.fsgid;
    if (name == "Groups:")
      for (std::uint32_t group = 0; fields >> group;) own.groups.push_back(group);
    if (!name.starts_with("Cap")) continue;
    fields >> value;
    if (name == "CapInh:") head.cap_inheritable = hex(value);
    if (name == "CapPrm:") head.cap_permitted = hex(value);
    if (name == "CapEff:") head.cap_effective = hex(value);
    if (name == "CapBnd:") head.cap_bset = hex(value);
    if (name == "CapAmb:") head.cap_ambient = hex(value);
  }
  own.head.nr_groups = static_cast<std::uint32_t>(own.groups.size());
  const int securebits = ::prctl(PR_GET_SECUREBITS);
  if (securebits < 0) fail_errno("PR_GET_SECUREBITS");
  own.head.securebits = static_cast<std::uint32_t>(securebits);
  return own;
}

bool capable(const Creds& own, int capability) {
  return own.head.cap_effective >> capability & 1;
}

CredentialChange credential_change(const Creds& saved, const Creds& own) {
  CredentialChange change{std::nullopt, own};
  if (!same(saved, own)) change.to = saved;
  return change;
}

bool has_number(const std::vector<cryo_id_range>& ranges, std::uint32_t id) {
  return std::any_of(ranges.begin(), ranges.end(), [id](const cryo_id_range& range) {
    return id >= range.first && id - range.first < range.count;
  });
}

bool needs_outer_groups(const Context& context, const Process& process) {
  if (!process.outer_groups || process.namespaces.user == 0) return false;
  const Namespace& ns = context.namespaces.at(process.namespaces.user);
  return !(ns.user->flags & CRYO_USER_SETGROUPS) ||
         !std::all_of(process.creds->groups.begin(), process.creds->groups.end(),
                      [&ns](std::uint32_t group) { return has_number(ns.gids, group); });
}

void take_outer_groups(const Context& context, const Process& process) {
  if (!needs_outer_groups(context, process) || *process.outer_groups == own_credentials().groups) return;
  // Without the library, which would tell all threads.
  if (::syscall(SYS_setgroups, process.outer_groups->size(), process.outer_groups->data()) != 0)
    fail_errno("cannot set the supplementary groups");
}

std::vector<std::string> credential_problems(const CredentialChange& change) {
  std::vector<std::string> problems;
  if (!change.to) return problems;
  const cryo_creds& own = change.own.head;
  const cryo_creds& to = change.to->head;
  if (!capable(change.own, CAP_SETUID) && !(may_set_uid(own, to.uid) && may_set_uid(own, to.euid) &&
                                            may_set_uid(own, to.suid) && may_set_uid(own, to.fsuid)))
    problems.push_back(fmt::format("it ran as user {} (effective {}), cr_restart runs as user {}", to.uid,
                                   to.euid, own.uid));
  if (!capable(change.own, CAP_SETGID)) {
    if (!(may_set_gid(own, to.gid) && may_set_gid(own, to.egid) && may_set_gid(own, to.sgid) &&
          may_set_gid(own, to.fsgid)))
      problems.push_back(fmt::format("it ran with group {} (effective {}), cr_restart runs with group {}",
                                     to.gid, to.egid, own.gid));
    if (change.to->groups != change.own.groups)
      problems.push_back("its supplementary groups are not those of cr_restart");
  }
  const std::uint64_t missing = to.cap_permitted & ~own.cap_permitted;
  if (missing != 0)
    problems.push_back(fmt::format("it had capabilities ({:#x}) that cr_restart lacks", missing));
  const bool setpcap = capable(change.own, CAP_SETPCAP);
  const std::uint64_t inheritable = to.cap_inheritable & ~(own.cap_inheritable | own.cap_permitted);
  if (inheritable != 0 && !(setpcap && (inheritable & ~own.cap_bset) == 0))
    problems.push_back(
        fmt::format("it had inheritable capabilities ({:#x}) that cr_restart cannot give", inheritable));
  if (!setpcap && (to.securebits & ~SECBIT_KEEP_CAPS) != (own.securebits & ~SECBIT_KEEP_CAPS))
    problems.push_back("its securebits differ from those of cr_restart");
  if (!setpcap && (own.cap_bset & ~to.cap_bset) != 0)
    problems.push_back("its capability bounding set is smaller than that of cr_restart");
  return problems;
}

void plan_credentials(const CredentialChange& change, CallList& calls, Room& room) {
  if (!change.to) return;
  const cryo_creds& own = change.own.head;
  const cryo_creds& to = change.to->head;
  // Capabilities stay permitted while user ids change.
  calls.add(Step::kCredentials, 0, SYS_prctl, PR_SET_KEEPCAPS, 1, 0, 0, 0);
  for (int cap = 0; cap <= kLastCapability; ++cap)
    if ((own.cap_bset & ~to.cap_bset) >> cap & 1)
      calls.add(Step::kCredentials, 1, SYS_prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
  if (change.to->groups != change.own.groups)
    calls.add(Step::kCredentials, 2, SYS_setgroups, change.to->groups.size(), room.copy(change.to->groups));
  calls.add(Step::kCredentials, 3, SYS_setresgid, to.gid, to.egid, to.sgid);
  calls.add(Step::kCredentials, 4, SYS_setresuid, to.uid, to.euid, to.suid);
  // What was permitted still is; use it for the rest.
  add_capset(calls, room, own.cap_permitted, own.cap_permitted, to.cap_inheritable);
  calls.add(Step::kCredentials, 3, SYS_setfsgid, to.fsgid);  // answers with the old one: ask again
  calls.expect(stub::Expect::kArgument0, Step::kCredentials, 3, SYS_setfsgid, to.fsgid);
  calls.add(Step::kCredentials, 4, SYS_setfsuid, to.fsuid);
  calls.expect(stub::Expect::kArgument0, Step::kCredentials, 4, SYS_setfsuid, to.fsuid);
  calls.add(Step::kCredentials, 7, SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (int cap = 0; cap <= kLastCapability; ++cap)
    if (to.cap_ambient >> cap & 1)
      calls.add(Step::kCredentials, 7, SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0);
  // After the ambient set, which a securebit may close.
  if ((to.securebits & ~SECBIT_KEEP_CAPS) != (own.securebits & ~SECBIT_KEEP_CAPS))
    calls.add(Step::kCredentials, 5, SYS_prctl, PR_SET_SECUREBITS, to.securebits, 0, 0, 0);
  else
    calls.add(Step::kCredentials, 5, SYS_prctl, PR_SET_KEEPCAPS, (to.securebits & SECBIT_KEEP_CAPS) ? 1 : 0,
              0, 0, 0);
  add_capset(calls, room, to.cap_effective, to.cap_permitted, to.cap_inheritable);
}

}  // namespace cryo
