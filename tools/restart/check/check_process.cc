// SPDX-License-Identifier: GPL-2.0-only
// Pids, session, credentials, limits, working directory.
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/parse.h"
#include "base/place.h"
#include "restart/check/check.h"
#include "restart/common/id_holder.h"
#include "restart/common/proc_files.h"
#include "restart/ns/mounts.h"
#include "restart/process/process_state.h"
#include "restart/process/root_directory.h"
#include "restart/process/tree_plan.h"
#include "restart/rights/identity.h"
#include "restart/rights/names.h"
#include "restart/threads/posix_timers.h"

namespace cryo {
namespace {

void check_session(const CheckInput& input, Findings& findings) {
  const cryo_process& head = input.process.head;
  const RestartOptions& options = input.options;
  const auto& processes = input.context.processes;
  // What depends on others of the job, the tree's plan looks after.
  const auto is_of_job = [&](std::int32_t pid) {
    return std::any_of(processes.begin(), processes.end(),
                       [pid](const Process& other) { return other.head.pid == pid; });
  };
  if (is_of_job(head.ppid)) return;
  if (options.restore_sid && !is_of_job(head.sid) && head.sid != ::getsid(0))
    findings.problem(EPERM,
                     "pid {}: cannot enter session {}: sessions are only inherited by fork(2) (without "
                     "--restore-sid, it gets that of cr_restart)",
                     head.pid, head.sid);
  // A group that is gone is made by a process with its number.
  if (options.restore_pgid && !options.restore_pid && !is_of_job(head.pgid) && head.pgid != ::getpgrp() &&
      !id_exists(-head.pgid))
    findings.problem(
        ESRCH,
        "pid {}: its process group {} does not exist (without --restore-pgid, it gets that of cr_restart)",
        head.pid, head.pgid);
}

// In its own user namespace it has the right to all ids there, but not to those that it had from outside.
void check_outer_ids(const CheckInput& input, Findings& findings) {
  const Process& process = input.process;
  if (needs_outer_groups(input.context, process) && *process.outer_groups != input.own.groups &&
      !capable(input.own, CAP_SETGID))
    findings.problem(EPERM, "pid {}: {}", process.head.pid,
                     groups_problem(*process.outer_groups, input.own.groups));
  const Namespace* ns = &input.context.namespaces.at(process.namespaces.user);
  const cryo_creds& creds = process.creds->head;
  bool known = true;
  for (const std::uint32_t uid : {creds.uid, creds.euid, creds.suid}) known &= has_number(ns->uids, uid);
  for (const std::uint32_t gid : {creds.gid, creds.egid, creds.sgid}) known &= has_number(ns->gids, gid);
  while (ns->head.owner != 0) ns = &input.context.namespaces.at(ns->head.owner);
  if (!known && ns->user->owner_uid != input.own.head.euid)
    findings.problem(EPERM,
                     "pid {}: it ran as a user that is not mapped in its user namespace, created by user {}; "
                     "cr_restart runs as user {}",
                     process.head.pid, ns->user->owner_uid, input.own.head.euid);
}

std::string limit_text(rlim_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit);
}

// Nobody can set more, not even root.
void check_nr_open(const CheckInput& input, Findings& findings) {
  if (input.process.rlimits.size() <= RLIMIT_NOFILE) return;
  const std::uint64_t wanted = input.process.rlimits[RLIMIT_NOFILE].max;
  const std::string text = read_proc("sys/fs/nr_open");
  const auto most = parse_number<std::uint64_t>(text.substr(0, text.find('\n')));
  if (most && wanted > *most)
    findings.problem(
        EPERM,
        "pid {}: its hard limit of {} is {}, /proc/sys/fs/nr_open allows {} (root can raise it with sysctl)",
        input.process.head.pid, limit_name(RLIMIT_NOFILE), limit_text(wanted), *most);
}

void check_limits(const CheckInput& input, Findings& findings) {
  check_nr_open(input, findings);
  if (capable(input.own, CAP_SYS_RESOURCE)) return;
  for (std::uint32_t i = 0; i < input.process.rlimits.size(); ++i) {
    rlimit limit;
    if (::getrlimit(static_cast<__rlimit_resource_t>(i), &limit) != 0) {
      findings.problem(EINVAL, "pid {}: this kernel has no limit {}", input.process.head.pid, i);
    } else if (input.process.rlimits[i].max > limit.rlim_max && is_of_machine(i)) {
      findings.warning("pid {}: its hard limit of {} becomes {} (it was {})", input.process.head.pid,
                       limit_name(i), limit_text(limit.rlim_max), limit_text(input.process.rlimits[i].max));
    } else if (input.process.rlimits[i].max > limit.rlim_max) {
      const std::string wanted = limit_text(input.process.rlimits[i].max);
      findings.problem(EPERM,
                       "pid {}: its hard limit of {} is {}, cr_restart's is {} (raise that of the shell or "
                       "batch job that starts cr_restart, as root by prlimit --{}=:{} --pid PID, or restart "
                       "it as root)",
                       input.process.head.pid, limit_name(i), wanted, limit_text(limit.rlim_max),
                       limit_option(i), wanted);
    }
  }
}

// cr_restart enters it for the process, if it may.
bool may_enter_very(const CheckInput& input, const Path& cwd, const std::string& path) {
  if (!names::is_there(
          {path, O_PATH, cwd.head.dev, cwd.head.ino, S_IFDIR, {}, input.context.header.created_ns}))
    return false;
  const OwnNames own;
  return names::access(path, X_OK) == 0;
}

// One line for all who are in it.
bool is_first_in(const CheckInput& input, const Path& cwd) {
  const auto is_it = [&cwd](const Process& other) {
    return other.cwd && other.cwd->path == cwd.path && other.cwd->head.ino == cwd.head.ino &&
           other.cwd->head.dev == cwd.head.dev;
  };
  const auto& all = input.context.processes;
  const auto first = std::find_if(all.begin(), all.end(), is_it);
  return first == all.end() || (&*first == &input.process && &cwd == &*first->cwd);
}

// Whose names the job would use from there on.
void check_same_directory(const CheckInput& input, const Path& cwd, const std::string& path,
                          Findings& findings) {
  const auto way = input.options.changed_files.value_or(ChangedFiles::kWarn);
  const UniqueFd place = names::open(path, O_PATH | O_DIRECTORY);
  if (!place || way == ChangedFiles::kIgnore || input.options.relocations.covers(cwd.path) ||
      !is_other_directory(input.context, cwd.head, place.get()) || !is_first_in(input, cwd))
    return;
  const std::string text =
      fmt::format("pid {}: its working directory {} is another one than at the checkpoint ({}",
                  input.process.head.pid, path, difference_of(cwd.head, place.get()));
  if (way == ChangedFiles::kRefuse)
    findings.problem(ESTALE, "{}; --changed-files=warn accepts it, --relocate=OLD=NEW selects another one)",
                     text);
  else
    findings.warning("{})", text);
}

void check_directory(const CheckInput& input, const Path& cwd, Findings& findings) {
  if (cwd.head.flags & CRYO_PATH_DELETED) return;
  // What is on a mount that is made by the restart is not there yet.
  const auto outside =
      outer_path(input.context, input.process.namespaces.mnt, input.options.relocations.apply(cwd.path));
  if (!outside) return;
  const std::string& path = *outside;
  const auto index = static_cast<std::size_t>(&input.process - input.context.processes.data());
  const NamesToCheck theirs(input.context, {index});
  struct stat now;
  const bool found = names::stat(path, now) == 0;
  if (found && S_ISDIR(now.st_mode) && names::access(path, X_OK) == 0)
    return check_same_directory(input, cwd, path, findings);
  const int error = errno;
  if (may_enter_very(input, cwd, path)) return;
  if (!found)
    findings.problem(
        error,
        "pid {}: its working directory {} cannot be found: {} (--relocate=OLD=NEW if it is elsewhere now)",
        input.process.head.pid, path, way_error(error));
  else if (!S_ISDIR(now.st_mode))
    findings.problem(ENOTDIR, "pid {}: its working directory {} is no directory", input.process.head.pid,
                     path);
  else
    findings.problem(
        error,
        "pid {}: its working directory {} may not be entered: {} (--relocate=OLD=NEW selects another one)",
        input.process.head.pid, path, way_error(error));
}

void check_cwd(const CheckInput& input, Findings& findings) {
  check_directory(input, *input.process.cwd, findings);
  for (const Thread& thread : input.process.threads)
    if (thread.fs && thread.fs->head.same_as == thread.head.tid)
      check_directory(input, {thread.fs->head.cwd, thread.fs->path}, findings);
}

void check_oom(const CheckInput& input, Findings& findings) {
  const int now = input.oom_score_adj;
  if (input.process.head.oom_score_adj < now && !capable(input.own, CAP_SYS_RESOURCE))
    findings.warning("pid {}: oom_score_adj stays at {} (it was {})", input.process.head.pid, now,
                     input.process.head.oom_score_adj);
}

}  // namespace

void check_ids(const Context& context, const TreePlan& plan, Findings& findings) {
  const IdHolders holders;
  for (const Process& process : context.processes) {
    const std::int32_t pid = process.head.pid;
    if (const std::string holder = holders.find(pid); !holder.empty())
      findings.problem(EBUSY, "pid {} is in use by {}", pid, holder);
    // Of threads in a pid namespace of the job the ids inside are chosen: outside they get any.
    for (const Thread& thread : process.threads) {
      if (thread.head.tid == pid || process.namespaces.pid != 0) continue;
      if (const std::string holder = holders.find(thread.head.tid); !holder.empty())
        findings.problem(EBUSY, "pid {}: the id of its thread {} is in use by {}", pid, thread.head.tid,
                         holder);
    }
  }
  for (std::size_t node = 1; node < plan.nodes.size(); ++node) {
    if (plan.nodes[node].process != TreeNode::kHelper || plan.nodes[node].pid == 0) continue;
    if (const std::string holder = holders.find(plan.nodes[node].pid); !holder.empty())
      findings.problem(EBUSY, "the id of the session or process group {} is in use by {}",
                       plan.nodes[node].pid, holder);
  }
  const bool taken = std::any_of(findings.problems.begin(), findings.problems.end(),
                                 [](const Problem& problem) { return problem.code == EBUSY; });
  if (taken)
    findings.hint("all ids are free in a new pid namespace: use --pid-ns{}",
                  context.processes.size() == 1 ? "; --no-restore-pid takes any" : "");
}

bool check_user_numbers(const Context& context, Findings& findings) {
  const IdMaps maps = own_id_maps();
  for (const Process& process : context.processes) {
    if (!process.creds || process.namespaces.user != 0) continue;
    const cryo_creds& creds = process.creds->head;
    const bool user = has_number(maps.uids, creds.uid) && has_number(maps.uids, creds.euid);
    if (user && has_number(maps.gids, creds.gid) && has_number(maps.gids, creds.egid)) continue;
    findings.problem(EPERM,
                     "pid {}: {} {} of the job is not mapped in the user namespace of cr_restart (unshare "
                     "-c, without -r, keeps the "
                     "caller's)",
                     process.head.pid, user ? "group" : "user", user ? creds.gid : creds.uid);
    return false;
  }
  return true;
}

void check_process(const CheckInput& input, Findings& findings) {
  check_posix_timers(input, findings);
  if (!input.process.creds || !input.process.cwd) {
    findings.problem(EBADMSG, "pid {}: the context lacks its credentials or working directory",
                     input.process.head.pid);
    return;
  }
  check_session(input, findings);
  if (input.process.namespaces.user != 0) {
    check_outer_ids(input, findings);
  } else {
    for (const std::string& text : credential_problems(credential_change(*input.process.creds, input.own)))
      findings.problem(EPERM, "pid {}: {}", input.process.head.pid, text);
    for (const Thread& thread : input.process.threads)
      for (const std::string& text : thread.creds
                                         ? credential_problems(credential_change(*thread.creds, input.own))
                                         : std::vector<std::string>())
        findings.problem(EPERM, "thread {}: {}", thread.head.tid, text);
  }
  check_limits(input, findings);
  check_cwd(input, findings);
  check_roots(input, findings);
  check_oom(input, findings);
}

}  // namespace cryo
