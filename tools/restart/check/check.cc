// SPDX-License-Identifier: GPL-2.0-only
#include "restart/check/check.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>

#include "base/exit_codes.h"
#include "context/describe.h"
#include "restart/cgroups/cgroup.h"
#include "restart/check/check_limits.h"
#include "restart/check/check_room.h"
#include "restart/common/id_holder.h"
#include "restart/common/proc_files.h"
#include "restart/common/restart_arch.h"
#include "restart/ipc/sysv.h"
#include "restart/memory/mempolicy.h"
#include "restart/memory/tags.h"
#include "restart/ns/namespaces.h"
#include "restart/process/affinity.h"
#include "restart/process/cpu_baseline.h"
#include "restart/process/tree_plan.h"
#include "restart/rights/credentials.h"

namespace cryo {
namespace {

// Without these nothing else in the context has a meaning here.
void check_machine(const Context& context, Findings& findings) {
  if (context.header.arch != own_arch())
    findings.problem(kErrBadArch, "the context is of a process on {}, this is {}",
                     arch_name(context.header.arch), arch_name(own_arch()));
  const long page_size = ::sysconf(_SC_PAGESIZE);
  if (context.header.page_size != static_cast<std::uint64_t>(page_size))
    findings.problem(EINVAL, "the context has pages of {} bytes, this kernel {}", context.header.page_size,
                     page_size);
}

// The ids of all that has to be forked, helpers included, and the order to do it in.
void check_tree(const Context& context, const RestartOptions& options, Findings& findings) {
  // One that has exited, be it in the place of cr_checkpoint, knows nobody.
  const auto living =
      std::count_if(context.processes.begin(), context.processes.end(),
                    [](const Process& process) { return (process.head.flags & CRYO_PROC_ZOMBIE) == 0; });
  if (living > 1 && !options.restore_pid)
    findings.problem(EINVAL,
                     "the context holds {} processes: they know each other by their pids, which have "
                     "to be restored",
                     living);
  if (context.processes[root_process(context)].threads.empty())
    findings.problem(EINVAL, "the first process of the context has exited");
  const TreePlan plan = plan_tree(context, options, root_group(context));
  for (const std::string& text : plan.problems) findings.problem(EOPNOTSUPP, "{}", text);
  if (options.restore_pid) check_ids(context, plan, findings);
  if (plan.deposed == 0) return;
  // Of a job that is killed for itself: kill 0, timeout(1), a shell that ends with those it has started.
  if (const std::string other = other_in_own_group(); !other.empty())
    findings.advise(
        "pid {}: was a process group leader, and joins the group of cr_restart, with {}: signals to its "
        "group (kill 0, timeout) reach that, too (--restore-pgid restores its own group)",
        plan.deposed, other);
}

std::string command_of(const Process& process) {
  if (process.threads.empty()) return process.command;
  const auto& comm = process.threads.front().head.comm;
  return {std::begin(comm), std::find(std::begin(comm), std::end(comm), '\0')};
}

// "pid 7: ..." becomes "pid 7 (COMMAND): ...", and "thread 8: ..." "pid 7 (COMMAND), thread 8: ...".
void add_commands(const Context& context, Findings& findings) {
  std::map<std::string, std::string> names;
  for (const Process& process : context.processes) {
    const std::string who = fmt::format("pid {} ({})", process.head.pid, command_of(process));
    names.emplace(fmt::format("pid {}", process.head.pid), who);
    for (const Thread& thread : process.threads)
      names.emplace(fmt::format("thread {}", thread.head.tid),
                    fmt::format("{}, thread {}", who, thread.head.tid));
  }
  for (Problem& problem : findings.problems) {
    const std::size_t end = problem.text.find_first_of(": ", problem.text.find(' ') + 1);
    const auto name = names.find(problem.text.substr(0, end));
    if (name != names.end()) problem.text.replace(0, end, name->second);
  }
}

void check_cpu(const Context& context, const Chain& chain, const RestartOptions& options,
               Findings& findings) {
  for (const CpuProblem& cpu : cpu_problems(context, cpu_baselines(context, chain))) {
    if (cpu.certain || (!cpu.unlikely && options.other_cpu == Tolerance::kError))
      findings.problem(kErrBadArch, "{}", cpu.text);
    else
      findings.warning("{}", cpu.text);
  }
}

}  // namespace

namespace {

// Numbers are those of its parent's user namespace.
void check_exited(const Process& process, const Creds& own, Findings& findings) {
  if (!process.ended_as || process.namespaces.user != 0 || may_end_as(*process.ended_as, own)) return;
  findings.warning("pid {}: exited as user {}; its parent will see si_uid {}", process.head.pid,
                   process.ended_as->head.uid, own.head.uid);
}

NodeMask nodes_for(const Context& context, const Process& process, const RestartOptions& options) {
  const bool asks = !context.mm(process.head.mm).mempolicies.empty() ||
                    std::any_of(process.threads.begin(), process.threads.end(),
                                [](const Thread& thread) { return thread.mempolicy.has_value(); });
  if (!asks || options.cgroups == CgroupPolicy::kLeave) return asks ? nodes_to_be_had() : NodeMask();
  return nodes_to_be_had(context, static_cast<std::size_t>(&process - context.processes.data()));
}

}  // namespace

namespace {

void check_all_room(const Context& context, const RestartOptions& options, const Creds& own,
                    Findings& findings) {
  const ContentsSizes sizes = contents_sizes(context);
  const std::set<std::uint32_t> in_memory = check_room(context, options, own, sizes, findings);
  const MemoryNeeds needs = memory_needs(context, options, sizes, in_memory);
  check_free_memory(needs, memory_room(needs), findings);
}

}  // namespace

Findings check_context(const Context& context, const Chain& chain, const RestartOptions& options) {
  Findings findings;
  check_machine(context, findings);
  if (!findings.problems.empty()) return findings;
  if (!check_user_numbers(context, findings)) {
    add_commands(context, findings);
    return findings;
  }
  const Creds own = own_credentials();
  check_origin(context, chain, options, own, findings);
  check_handed_on(context, options, own, findings);
  check_cpu(context, chain, options, findings);
  check_code(context, options, findings);
  check_tree(context, options, findings);
  if (options.cgroups == CgroupPolicy::kMake || options.cgroups == CgroupPolicy::kStrict)
    reach_outer_cgroups();
  const CpuMask cpus = cpus_to_be_had();
  const int oom_score_adj = std::atoi(read_proc("self/oom_score_adj").c_str());
  for (const Process& process : context.processes) {
    if (process.head.flags & CRYO_PROC_ZOMBIE) {
      check_exited(process, own, findings);
      continue;
    }
    const CheckInput input{
        context, process, options, own, oom_score_adj, cpus, nodes_for(context, process, options)};
    check_process(input, findings);
    check_threads(input, findings);
    check_memory(input, findings);
    check_shadow_stacks(input, findings);
  }
  check_aio(context, findings);
  findings.contexts = context_files(context, chain);
  findings.other_uses = find_other_uses(context, chain, options);
  check_rewritten(context, options, findings);
  check_files(context, options, own, findings);
  check_changed(context, options, findings);
  check_locks(context, options, findings);
  check_sysv(context, findings);
  check_hugetlb(context, options, own, findings);
  check_all_room(context, options, own, findings);
  check_shared_tags(context, findings);
  check_namespaces(context, options, own, findings);
  check_cgroups(context, options, findings);
  check_limits(context, options, own, machine_limits(context, options, own), findings);
  add_commands(context, findings);
  return findings;
}

}  // namespace cryo
