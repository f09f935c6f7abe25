// SPDX-License-Identifier: GPL-2.0-only
#include "restart/rights/rights_calls.h"

#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>

#include "restart/rights/credentials.h"

namespace cryo {
namespace {

constexpr std::size_t kCalls = 20;  // of both, each with what it points to

// A caller without capabilities stays as it is.
struct Difference {
  bool any = false, groups = false, ids = false;
  std::uint64_t capabilities = 0;
};

Difference difference_of(const Rights& rights, const Creds& own) {
  const cryo_creds& head = own.head;
  Difference difference;
  if (head.cap_permitted == 0) return difference;
  difference.groups = rights.groups && *rights.groups != own.groups;
  difference.ids = rights.ids && (rights.ids->euid != head.euid || rights.ids->egid != head.egid);
  difference.capabilities = head.cap_permitted & rights.capabilities;
  difference.any = difference.groups || difference.ids || rights.uid != head.fsuid ||
                   rights.gid != head.fsgid || difference.capabilities != head.cap_effective;
  return difference;
}

// They answer with the old one: ask again.
void plan_file_ids(std::uint32_t uid, std::uint32_t gid, CallList& calls) {
  calls.add(kCredentialsStep, 3, SYS_setfsgid, gid);
  calls.expect(stub::Expect::kArgument0, kCredentialsStep, 3, SYS_setfsgid, gid);
  calls.add(kCredentialsStep, 4, SYS_setfsuid, uid);
  calls.expect(stub::Expect::kArgument0, kCredentialsStep, 4, SYS_setfsuid, uid);
}

// What went with the effective user.
void plan_all_capabilities(const cryo_creds& own, CallList& calls, Arena& arena) {
  plan_capabilities(calls, arena, own.cap_permitted, own.cap_permitted, own.cap_inheritable);
}

}  // namespace

void plan_rights_taken(const Rights& rights, const Creds& own, CallList& calls, Arena& arena) {
  const cryo_creds& head = own.head;
  const Difference difference = difference_of(rights, own);
  if (!difference.any) return;
  plan_all_capabilities(head, calls, arena);
  if (difference.groups)
    calls.add(kCredentialsStep, 2, SYS_setgroups, rights.groups->size(), arena.copy(*rights.groups));
  if (difference.ids) {
    calls.add(kCredentialsStep, 3, SYS_setresgid, kKeepId, rights.ids->egid, kKeepId);
    calls.add(kCredentialsStep, 4, SYS_setresuid, kKeepId, rights.ids->euid,
              head.suid == 0 ? kKeepId : head.euid);
    plan_all_capabilities(head, calls, arena);
  }
  plan_file_ids(rights.uid, rights.gid, calls);
  plan_capabilities(calls, arena, difference.capabilities, head.cap_permitted, head.cap_inheritable);
}

void plan_rights_back(const Rights& rights, const Creds& own, CallList& calls, Arena& arena) {
  const cryo_creds& head = own.head;
  const Difference difference = difference_of(rights, own);
  if (!difference.any) return;
  plan_all_capabilities(head, calls, arena);
  if (difference.ids) {
    calls.add(kCredentialsStep, 3, SYS_setresgid, kKeepId, head.egid, head.sgid);
    calls.add(kCredentialsStep, 4, SYS_setresuid, kKeepId, head.euid, head.suid);
    plan_all_capabilities(head, calls, arena);
  }
  plan_file_ids(head.fsuid, head.fsgid, calls);
  if (difference.groups)
    calls.add(kCredentialsStep, 2, SYS_setgroups, own.groups.size(), arena.copy(own.groups));
  plan_capabilities(calls, arena, head.cap_effective, head.cap_permitted, head.cap_inheritable);
  calls.add(kDeathSignalStep, 0, SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

std::size_t rights_plan_size(const Rights& rights, const Creds& own) {
  constexpr std::size_t kPointedTo = 64;
  const std::size_t groups = own.groups.size() + (rights.groups ? rights.groups->size() : 0);
  return kCalls * (sizeof(stub::Call) + kPointedTo) + groups * sizeof(std::uint32_t);
}

}  // namespace cryo
