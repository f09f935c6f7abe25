// SPDX-License-Identifier: GPL-2.0-only
#include "restart/rights/credentials.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/unique_fd.h"
#include "restart/common/proc_files.h"
#include "restart/rights/thread_ids.h"

namespace cryo {
namespace {

constexpr int kLastCapability = 63;

// Those behind "NAME:" in a file like /proc/self/status.
template <typename T>
std::vector<T> numbers(std::string_view text, std::string_view name, int base) {
  std::vector<T> result;
  std::size_t at = text.find(fmt::format("\n{}:", name));
  if (at == std::string_view::npos) return result;
  at += name.size() + 2;
  const std::string_view line = text.substr(at, text.find('\n', at) - at);
  for (std::size_t from = 0; (from = line.find_first_not_of("\t ", from)) != std::string_view::npos;) {
    T value{};
    const auto [end, error] = std::from_chars(line.data() + from, line.data() + line.size(), value, base);
    if (error != std::errc()) fail(EIO, "/proc/self/status: {}: unknown format", name);
    result.push_back(value);
    from = static_cast<std::size_t>(end - line.data());
  }
  return result;
}

std::uint64_t capabilities(std::string_view status, std::string_view name) {
  const auto masks = numbers<std::uint64_t>(status, name, 16);
  return masks.empty() ? 0 : masks.front();
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

// Of the caller's user namespace: a file like /proc/self/uid_map.
std::vector<cryo_id_range> own_ranges(const char* file) {
  std::istringstream lines(read_proc(file));
  std::vector<cryo_id_range> ranges;
  for (cryo_id_range range{}; lines >> range.first >> range.lower_first >> range.count;)
    ranges.push_back(range);
  if (!lines.eof()) fail(EIO, "/proc/{} has an unknown format", file);
  return ranges;
}

}  // namespace

namespace {

// Of keep_outer_groups(): by their numbers outside, and inside the user namespace with that inode number.
struct KeptGroups {
  std::vector<std::uint32_t> outer, inner;
  ino_t users;
};
std::optional<KeptGroups> g_kept;

// 0: not known.
ino_t own_user_namespace() {
  const UniqueFd fd = open_proc("self/ns/user");
  struct stat now {};
  return fd && ::fstat(fd.get(), &now) == 0 ? now.st_ino : 0;
}

}  // namespace

void keep_outer_groups(std::vector<std::uint32_t> groups) {
  g_kept = {std::move(groups), numbers<std::uint32_t>(read_proc("self/status"), "Groups", 10),
            own_user_namespace()};
}

void take_outer_numbers(Context& context) {
  if (!g_kept) return;
  const auto take = [](std::vector<std::uint32_t>& groups) {
    if (groups == g_kept->inner) groups = g_kept->outer;
  };
  for (Process& process : context.processes) {
    if (process.outer_groups) take(*process.outer_groups);
    if (process.namespaces.user != 0) continue;
    if (process.creds) take(process.creds->groups);
    for (Thread& thread : process.threads)
      if (thread.creds) take(thread.creds->groups);
  }
}

Creds own_credentials() {
  const std::string status = read_proc("self/status");
  if (status.empty()) fail_errno("cannot read /proc/self/status");
  Creds own;
  cryo_creds& head = own.head;
  const auto uids = numbers<std::uint32_t>(status, "Uid", 10);
  const auto gids = numbers<std::uint32_t>(status, "Gid", 10);
  if (uids.size() != 4 || gids.size() != 4) fail(EIO, "/proc/self/status has an unknown format");
  head.uid = uids[0], head.euid = uids[1], head.suid = uids[2], head.fsuid = uids[3];
  head.gid = gids[0], head.egid = gids[1], head.sgid = gids[2], head.fsgid = gids[3];
  own.groups = numbers<std::uint32_t>(status, "Groups", 10);
  // In a user namespace of the job they have the numbers of that.
  if (g_kept && g_kept->inner == own.groups && g_kept->users == own_user_namespace())
    own.groups = g_kept->outer;
  head.nr_groups = static_cast<std::uint32_t>(own.groups.size());
  head.cap_inheritable = capabilities(status, "CapInh");
  head.cap_permitted = capabilities(status, "CapPrm");
  head.cap_effective = capabilities(status, "CapEff");
  head.cap_bset = capabilities(status, "CapBnd");
  head.cap_ambient = capabilities(status, "CapAmb");
  const int securebits = ::prctl(PR_GET_SECUREBITS);
  if (securebits < 0) fail_errno("PR_GET_SECUREBITS");
  head.securebits = static_cast<std::uint32_t>(securebits);
  return own;
}

bool is_capable(int capability) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) fail_errno("capget");
  return data[capability / 32].effective >> (capability % 32) & 1;
}

bool is_privileged(const Creds& own) {
  return own.head.euid == 0 || own.head.cap_effective != 0;
}

bool capable(const Creds& own, int capability) {
  return own.head.cap_effective >> capability & 1;
}

CredentialChange credential_change(const Creds& saved, const Creds& own) {
  CredentialChange change{std::nullopt, own};
  if (!same(saved, own)) change.to = saved;
  return change;
}

IdMaps own_id_maps() {
  return {own_ranges("self/uid_map"), own_ranges("self/gid_map")};
}

void keep_unmapped(CredentialChange& change, const IdMaps& maps) {
  if (!change.to) return;
  cryo_creds& to = change.to->head;
  const cryo_creds& own = change.own.head;
  // Another one than the caller's is left as it is: the call that is to set it says that it cannot.
  const auto keep = [](const std::vector<cryo_id_range>& ranges, __u32& id, __u32 is) {
    if (id == is && !has_number(ranges, id)) id = kKeepId;
  };
  keep(maps.uids, to.uid, own.uid), keep(maps.uids, to.euid, own.euid), keep(maps.uids, to.suid, own.suid);
  keep(maps.gids, to.gid, own.gid), keep(maps.gids, to.egid, own.egid), keep(maps.gids, to.sgid, own.sgid);
}

CredentialChange thread_credentials(const Thread& thread, const CredentialChange& process) {
  if (!thread.creds) return process;
  Creds saved = *thread.creds;
  if (process.given_groups && saved.groups == *process.given_groups) saved.groups = process.own.groups;
  CredentialChange change = credential_change(saved, process.own);
  if (change.to) keep_unmapped(change, own_id_maps());
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
  return !(ns.user->flags & CRYO_USER_SETGROUPS) || ns.gids.empty() ||
         !std::all_of(process.creds->groups.begin(), process.creds->groups.end(),
                      [&ns](std::uint32_t group) { return has_number(ns.gids, group); });
}

// With --groups=own they have other numbers than at the checkpoint, and nobody may set them there.
CredentialChange credential_change(const Context& context, const Process& process, const Creds& own) {
  if (!needs_outer_groups(context, process)) return credential_change(*process.creds, own);
  Creds saved = *process.creds;
  saved.groups = own.groups;
  CredentialChange change = credential_change(saved, own);
  change.given_groups = process.creds->groups;
  return change;
}

void take_outer_groups(const Context& context, const Process& process) {
  if (!needs_outer_groups(context, process) || *process.outer_groups == own_credentials().groups) return;
  if (!set_groups(*process.outer_groups)) fail_errno("cannot set the supplementary groups");
}

void refuse_own_groups(const Creds& own) {
  if (capable(own, CAP_SETGID))
    fail(EINVAL,
         "--groups=own is only for callers without CAP_SETGID: cr_restart has it, and would give its own "
         "groups to the process");
}

void take_own_groups(Context& context, const Creds& own) {
  for (Process& process : context.processes) {
    if (!process.creds) continue;
    if (process.namespaces.user == 0) process.creds->groups = own.groups;
    if (process.outer_groups) process.outer_groups = own.groups;
  }
}

std::string groups_problem(const std::vector<std::uint32_t>& saved, const std::vector<std::uint32_t>& own) {
  const std::size_t kShown = 32;
  const auto list = [kShown](const std::vector<std::uint32_t>& groups) {
    if (groups.empty()) return std::string("none");
    const auto end = groups.begin() + static_cast<std::ptrdiff_t>(std::min(groups.size(), kShown));
    return fmt::format("{}{}", fmt::join(groups.begin(), end, ", "), groups.size() > kShown ? ", ..." : "");
  };
  return fmt::format(
      "its supplementary groups ({}) are not those of cr_restart ({}); --groups=own continues with the "
      "latter",
      list(saved), list(own));
}

bool is_one_user(const cryo_creds& creds) {
  return creds.euid == creds.uid && creds.suid == creds.uid && creds.fsuid == creds.uid;
}

bool is_one_group(const cryo_creds& creds) {
  return creds.egid == creds.gid && creds.sgid == creds.gid && creds.fsgid == creds.gid;
}

std::vector<std::string> credential_problems(const CredentialChange& change) {
  std::vector<std::string> problems;
  if (!change.to) return problems;
  const cryo_creds& own = change.own.head;
  const cryo_creds& to = change.to->head;
  if (!capable(change.own, CAP_SETUID) && !(may_set_uid(own, to.uid) && may_set_uid(own, to.euid) &&
                                            may_set_uid(own, to.suid) && may_set_uid(own, to.fsuid)))
    problems.push_back(
        fmt::format("it ran as user {} (effective {}), cr_restart runs as user {} (restart it as {})", to.uid,
                    to.euid, own.uid, is_one_user(to) && to.uid != 0 ? "that user or as root" : "root"));
  if (!capable(change.own, CAP_SETGID)) {
    if (!(may_set_gid(own, to.gid) && may_set_gid(own, to.egid) && may_set_gid(own, to.sgid) &&
          may_set_gid(own, to.fsgid)))
      problems.push_back(fmt::format(
          "it ran with group {} (effective {}), cr_restart runs with group {}{}", to.gid, to.egid, own.gid,
          !problems.empty()  ? ""
          : is_one_group(to) ? " (sg GROUP -c \"cr_restart ...\" runs it with that group)"
                             : " (restart it as root)"));
    // --groups=own does not help another user.
    if (change.to->groups != change.own.groups && problems.empty())
      problems.push_back(groups_problem(change.to->groups, change.own.groups));
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

void plan_capabilities(CallList& calls, Arena& arena, std::uint64_t effective, std::uint64_t permitted,
                       std::uint64_t inheritable) {
  auto* header = arena.array<__user_cap_header_struct>(1);
  header->version = _LINUX_CAPABILITY_VERSION_3;
  header->pid = 0;
  auto* data = arena.array<__user_cap_data_struct>(_LINUX_CAPABILITY_U32S_3);
  for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; ++i) {
    data[i].effective = static_cast<__u32>(effective >> (32 * i));
    data[i].permitted = static_cast<__u32>(permitted >> (32 * i));
    data[i].inheritable = static_cast<__u32>(inheritable >> (32 * i));
  }
  calls.add(kCredentialsStep, 6, SYS_capset, header, data);
}

void plan_credentials(const CredentialChange& change, CallList& calls, Arena& arena) {
  if (!change.to) return;
  const cryo_creds& own = change.own.head;
  const cryo_creds& to = change.to->head;
  // Capabilities stay permitted while user ids change.
  calls.add(kCredentialsStep, 0, SYS_prctl, PR_SET_KEEPCAPS, 1, 0, 0, 0);
  // What is inheritable may lie outside of the bounding set, but gets there only while it is in that.
  if ((to.cap_inheritable & ~own.cap_inheritable & ~to.cap_bset) != 0)
    plan_capabilities(calls, arena, own.cap_effective, own.cap_permitted, to.cap_inheritable);
  for (int cap = 0; cap <= kLastCapability; ++cap)
    if ((own.cap_bset & ~to.cap_bset) >> cap & 1)
      calls.add(kCredentialsStep, 1, SYS_prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
  if (change.to->groups != change.own.groups)
    calls.add(kCredentialsStep, 2, SYS_setgroups, change.to->groups.size(), arena.copy(change.to->groups));
  calls.add(kCredentialsStep, 3, SYS_setresgid, to.gid, to.egid, to.sgid);
  calls.add(kCredentialsStep, 4, SYS_setresuid, to.uid, to.euid, to.suid);
  // What was permitted still is; use it for the rest.
  plan_capabilities(calls, arena, own.cap_permitted, own.cap_permitted, to.cap_inheritable);
  calls.add(kCredentialsStep, 3, SYS_setfsgid, to.fsgid);  // answers with the old one: ask again
  calls.expect(stub::Expect::kArgument0, kCredentialsStep, 3, SYS_setfsgid, to.fsgid);
  calls.add(kCredentialsStep, 4, SYS_setfsuid, to.fsuid);
  calls.expect(stub::Expect::kArgument0, kCredentialsStep, 4, SYS_setfsuid, to.fsuid);
  calls.add(kCredentialsStep, 7, SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (int cap = 0; cap <= kLastCapability; ++cap)
    if (to.cap_ambient >> cap & 1)
      calls.add(kCredentialsStep, 7, SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0);
  // After the ambient set, which a securebit may close.
  if ((to.securebits & ~SECBIT_KEEP_CAPS) != (own.securebits & ~SECBIT_KEEP_CAPS))
    calls.add(kCredentialsStep, 5, SYS_prctl, PR_SET_SECUREBITS, to.securebits, 0, 0, 0);
  else
    calls.add(kCredentialsStep, 5, SYS_prctl, PR_SET_KEEPCAPS, (to.securebits & SECBIT_KEEP_CAPS) ? 1 : 0, 0,
              0, 0);
  plan_capabilities(calls, arena, to.cap_effective, to.cap_permitted, to.cap_inheritable);
}

// Who may not set any would lose one that he still needs.
void plan_real_user(const CredentialChange& change, CallList& calls) {
  if (!change.to || !capable(change.own, CAP_SETUID)) return;
  calls.add(kCredentialsStep, 4, SYS_setresuid, change.to->head.uid, kKeepId, kKeepId);
}

void set_credentials(const CredentialChange& change) {
  HeapArena arena;
  CallList list;
  plan_credentials(change, list, arena);
  for (const stub::Call& call : list.calls()) {
    const std::uint64_t* a = call.args;
    const long result = ::syscall(call.number, a[0], a[1], a[2], a[3], a[4], a[5]);
    const bool other = call.expect == stub::Expect::kArgument0 && static_cast<std::uint64_t>(result) != a[0];
    if (result < 0 || other) fail_errno("cannot set the credentials of a thread");
  }
}

namespace {

CredentialChange last_change(const Creds& saved, const Creds& own) {
  Creds to = saved;
  to.head.cap_inheritable &= own.head.cap_inheritable;
  to.head.cap_permitted &= own.head.cap_permitted;
  to.head.cap_effective &= own.head.cap_permitted;
  to.head.cap_ambient &= to.head.cap_permitted & to.head.cap_inheritable;
  to.head.cap_bset = own.head.cap_bset;
  to.head.securebits = own.head.securebits;
  return credential_change(to, own);
}

}  // namespace

bool may_end_as(const Creds& saved, const Creds& own) {
  return credential_problems(last_change(saved, own)).empty();
}

void end_as(const Creds& saved) {
  const Creds own = own_credentials();
  const IdMaps maps = own_id_maps();
  const cryo_creds& head = saved.head;
  for (const std::uint32_t uid : {head.uid, head.euid, head.suid, head.fsuid})
    if (!has_number(maps.uids, uid)) return;
  for (const std::uint32_t gid : {head.gid, head.egid, head.sgid, head.fsgid})
    if (!has_number(maps.gids, gid)) return;
  CredentialChange change = last_change(saved, own);
  // Where nobody may set them, or one has no number.
  const auto numbered = [&maps](std::uint32_t gid) { return has_number(maps.gids, gid); };
  if (change.to && (read_proc("self/setgroups").starts_with("deny") ||
                    !std::all_of(saved.groups.begin(), saved.groups.end(), numbered)))
    change.to->groups = own.groups;
  if (credential_problems(change).empty()) set_credentials(change);
}

const StepKind kCredentialsStep("set the credentials", [](const FailedCall& call) {
  static constexpr const char* kActions[] = {"keep capabilities",
                                             "reduce the capability bounding set",
                                             "set the supplementary groups",
                                             "set the group ids",
                                             "set the user ids",
                                             "set the securebits",
                                             "set the capabilities",
                                             "set the ambient capabilities",
                                             "set no_new_privs",
                                             "renew its consent to checkpoints by its user"};
  return fmt::format("cannot {}",
                     call.index < std::size(kActions) ? kActions[call.index] : "set the credentials");
});
const StepKind kDeathSignalStep("set the parent-death signal");

}  // namespace cryo
