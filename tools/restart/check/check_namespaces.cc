// SPDX-License-Identifier: GPL-2.0-only
// Whether the namespaces of a context can be made here.
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "restart/cgroups/cgroup.h"
#include "restart/common/helper_process.h"
#include "restart/common/proc_files.h"
#include "restart/ns/mounts.h"
#include "restart/ns/namespace_contents.h"
#include "restart/ns/namespaces.h"
#include "restart/ns/pid_namespaces.h"
#include "restart/ns/reach.h"
#include "restart/process/timers.h"
#include "restart/rights/credentials.h"
#include "restart/rights/identity.h"
#include "restart/rights/names.h"
#include "restart/rights/thread_ids.h"

namespace cryo {

std::string user_namespace_switch() {
  struct Switch {
    const char* name;
    char off;
  };
  static constexpr Switch kSwitches[] = {{"sys/kernel/unprivileged_userns_clone", '0'},
                                         {"sys/kernel/apparmor_restrict_unprivileged_userns", '1'}};
  for (const Switch& at : kSwitches)
    if (read_proc(at.name).starts_with(at.off)) return fmt::format("; /proc/{} is {}", at.name, at.off);
  return "";
}

namespace {

// Its owner tries it, in a process that ends after that.  Where a security module lets one be made that
// nobody has rights in, that is of no use.
std::string user_namespace_error(const Namespace& ns) {
  return text_from_helper([&ns]() -> std::string {
    const uid_t owner = ns.user->owner_uid;
    if (owner != ::geteuid() && !set_uids(kAsk, owner, kAsk)) return "";
    // Their number is compared with its limit elsewhere.
    if (!make_namespaces(CLONE_NEWUSER)) return errno == ENOSPC ? "" : errno_text(errno);
    if (!make_namespaces(CLONE_NEWUTS) && errno != ENOSPC)
      return fmt::format("{} in one that has been made", errno_text(errno));
    return "";
  });
}

// Nobody can give an id that has no number where cr_restart is.
void check_ranges(const std::vector<cryo_id_range>& ranges, const std::vector<cryo_id_range>& own,
                  bool groups, Findings& findings) {
  for (const cryo_id_range& range : ranges) {
    const std::uint32_t first = range.lower_first;
    if (std::any_of(own.begin(), own.end(), [&](const cryo_id_range& other) {
          return first >= other.first && first - other.first < other.count &&
                 range.count <= other.count - (first - other.first);
        }))
      continue;
    findings.problem(EPERM,
                     "a user namespace has the {} {} to {}, which are not mapped in that of cr_restart (an "
                     "ordinary user's --pid-ns maps the caller's only)",
                     groups ? "groups" : "users", first, std::uint64_t{first} + range.count - 1);
  }
}

void check_users(const Namespace& ns, const Creds& own, Findings& findings) {
  if (ns.head.owner != 0) return;
  if (ns.user->owner_uid != own.head.euid && !capable(own, CAP_SETUID))
    findings.problem(EPERM, "a user namespace was made by user {}, cr_restart runs as user {}",
                     ns.user->owner_uid, own.head.euid);
  if (needs_mappers(ns, own) && !has_mappers())
    findings.problem(EPERM,
                     "a user namespace has ids other than those of cr_restart: that requires CAP_SETUID "
                     "and CAP_SETGID, or newuidmap and newgidmap");
  const IdMaps maps = own_id_maps();
  check_ranges(ns.uids, maps.uids, false, findings);
  check_ranges(ns.gids, maps.gids, true, findings);
  if (const std::string text = user_namespace_error(ns); !text.empty())
    findings.problem(EPERM, "a user namespace of user {} cannot be made: {}{}", ns.user->owner_uid, text,
                     user_namespace_switch());
}

void check_one(const Namespace& ns, const Creds& own, Findings& findings) {
  if (ns.user) return check_users(ns, own, findings);
  if (ns.head.owner == 0 && !capable(own, CAP_SYS_ADMIN))
    findings.problem(EPERM, "a {} namespace that no user namespace of the job owns requires CAP_SYS_ADMIN",
                     namespace_name(ns.head.type));
  if (ns.cgroup.empty()) return;
  if (const std::string why = cgroup_obstacle(ns.cgroup); !why.empty())
    findings.warning(
        "the root of a cgroup namespace is going to be the control group of cr_restart, not {}: {}",
        ns.cgroup, why);
}

// Nobody enters a time namespace that was made for children: they are forked into it.
void check_time(const Context& context, const Process* parent, const Process& process, Findings& findings) {
  const std::uint32_t inherited = parent == nullptr ? 0 : parent->namespaces.time_for_children;
  // It may have been forked before its parent made another one.
  if (parent != nullptr && process.namespaces.time == parent->namespaces.time) return;
  if (process.namespaces.time != inherited && is_for_children(context, process.namespaces.time))
    findings.problem(EOPNOTSUPP, "pid {}: its time namespace was made by a process that is not its parent",
                     process.head.pid);
}

// Those of a user namespace that the process is not in are entered by who is above both.
void check_owners(const Context& context, const Process& process, const Creds& own, Findings& findings) {
  if (capable(own, CAP_SYS_ADMIN)) return;
  for (const Membership& one : memberships())
    if (is_entered_from_outside(context, process.namespaces, one))
      findings.problem(
          EPERM,
          "pid {}: its {} namespace is owned by a user namespace that it is not in, which requires "
          "CAP_SYS_ADMIN",
          process.head.pid, namespace_name(one.type));
}

// How each mount namespace can be made, and by whom what only a process of the job can mount.
void check_mounts(const Context& context, std::uint32_t id, Findings& findings) {
  const Namespace& ns = context.namespaces.at(id);
  const std::uint32_t base = copied_from(context, id);
  std::size_t steps = 0;
  for (std::uint32_t at = base; at != 0; at = copied_from(context, at))
    if (++steps > context.namespaces.size())
      return findings.problem(EOPNOTSUPP, "mount namespace {}: no mount namespace to copy it from", id);
  const Mount* missing = base == 0 ? nullptr : missing_in(*ns.mnt, *context.namespaces.at(base).mnt);
  if (missing != nullptr)
    findings.problem(EOPNOTSUPP, "mount {}: comes from outside of the mount namespace that its process left",
                     missing->point);
  if (const Mount* late = out_of_reach_later(mounts_to_build(context, id)); late != nullptr)
    findings.problem(EOPNOTSUPP,
                     "mount {}: what it shows is not in the root directory of its mount namespace, and it is "
                     "below a proc of the job",
                     late->point);
  for (std::size_t i = 0; i < ns.mnt->kinds.size(); ++i) {
    const std::uint32_t pids = ns.mnt->kinds[i].pid_ns;
    if (pids == 0 || ns.mnt->kinds[i].kind == CRYO_MOUNT_BIND) continue;
    const bool somebody =
        std::any_of(context.processes.begin(), context.processes.end(), [&](const Process& process) {
          return process.namespaces.pid == pids && process.namespaces.mnt == id && !process.threads.empty();
        });
    if (!somebody || !is_below(context, context.namespaces.at(pids).head.owner, ns.head.owner))
      findings.problem(EOPNOTSUPP, "mount {}: no process of its pid namespace may mount it there",
                       ns.mnt->mounts[i].point);
  }
}

void check_devices(const Context& context, const Creds& own, Findings& findings) {
  for (const auto& [id, entry] : context.mount_entries) {
    if (!S_ISCHR(entry.head.mode)) continue;
    if (context.namespaces.at(entry.head.ns).head.owner != 0)
      return findings.problem(EPERM,
                              "mount namespace {}: {} is a device in a temporary file system of a user "
                              "namespace, in which none can be made",
                              entry.head.ns, entry.path);
    if (!capable(own, CAP_MKNOD))
      return findings.problem(
          EPERM, "mount namespace {}: {} is a device in a temporary file system, which requires CAP_MKNOD",
          entry.head.ns, entry.path);
  }
}

// Who has it trusts what is there.
void check_root(const Context& context, std::uint32_t id, const RestartOptions& options, Findings& findings) {
  const Namespace& ns = context.namespaces.at(id);
  const std::size_t root = root_mount(*ns.mnt);
  if (ns.mnt->kinds[root].kind != CRYO_MOUNT_BIND ||
      options.changed_files.value_or(ChangedFiles::kRefuse) == ChangedFiles::kIgnore)
    return;
  const auto source = source_path(ns.mnt->outer, ns.mnt->mounts[root]);
  const OwnNames own;
  const UniqueFd fd = source ? names::open(*source, O_PATH | O_DIRECTORY | O_NOFOLLOW) : UniqueFd();
  if (!fd || identity_of(*ns.root, fd.get()) != Identity::kOther) return;  // the former is said elsewhere
  const std::string text =
      fmt::format("mount namespace {}: its root directory {} is another directory than at the checkpoint: {}",
                  id, *source, difference_of(*ns.root, fd.get()));
  if (options.changed_files == ChangedFiles::kWarn)
    findings.warning("{}", text);
  else
    findings.problem(ESTALE, "{} (--changed-files=warn if it is the right one)", text);
}

// Backwards, as after a reboot: who asks for a time of it that was computed before waits for that. Forwards
// it is as if nobody had had the processor.
void check_clock(const Context& context, const Creds& own, Findings& findings) {
  constexpr std::int64_t kSecond = 1000000000;
  const auto is_on_it = [](const Process& process) {
    return !process.threads.empty() && process.namespaces.time == 0;
  };
  const std::int64_t behind =
      static_cast<std::int64_t>(context.system.monotonic_ns) - now_on(CLOCK_MONOTONIC);
  if (behind < kSecond || std::none_of(context.processes.begin(), context.processes.end(), is_on_it)) return;
  findings.warning(
      "CLOCK_MONOTONIC is {} s behind where it was at the checkpoint: absolute timeouts that were "
      "computed before, and are waited for later, expire that much later ({} continues the clock)",
      behind / kSecond, capable(own, CAP_SYS_ADMIN) ? "--time-ns" : "a restart by root with --time-ns");
}

}  // namespace

void check_namespaces(const Context& context, const RestartOptions& options, const Creds& own,
                      Findings& findings) {
  if (options.time_namespace && !capable(own, CAP_SYS_ADMIN))
    findings.problem(EPERM, "a time namespace (--time-ns) requires CAP_SYS_ADMIN");
  if (!options.time_namespace) check_clock(context, own, findings);
  for (const auto& [id, ns] : context.namespaces) check_one(ns, own, findings);
  for (const auto& [id, ns] : context.namespaces)
    if (ns.mnt) check_mounts(context, id, findings);
  check_devices(context, own, findings);
  for (const auto& [id, ns] : context.namespaces)
    if (ns.root) check_root(context, id, options, findings);
  check_mount_points(context, findings);
  check_pid_namespaces(context, options, findings);
  for (const Process& process : context.processes) {
    if (process.head.flags & CRYO_PROC_ZOMBIE) continue;
    const auto found =
        std::find_if(context.processes.begin(), context.processes.end(),
                     [&](const Process& other) { return other.head.pid == process.head.ppid; });
    const Process* parent = found == context.processes.end() ? nullptr : &*found;
    check_time(context, parent, process, findings);
    check_owners(context, process, own, findings);
  }
}

}  // namespace cryo
