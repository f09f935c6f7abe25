// SPDX-License-Identifier: GPL-2.0-only
#include "restart/pid_namespaces.h"

#include <fcntl.h>
#include <sched.h>

#include <algorithm>

#include "base/error.h"
#include "base/unique_fd.h"
#include "restart/proc_files.h"

namespace cryo {
namespace {

constexpr pid_t kFirst = 1;  // of a namespace: it ends with it

class Translator {
 public:
  Translator(const Context& context, std::uint32_t ns) : context_(context), ns_(ns) {}

  void apply(std::int32_t& id) const { id = number_in(context_, ns_, id); }
  // Negative: a group.
  void apply_owner(std::int32_t& id) const {
    id = id < 0 ? -number_in(context_, ns_, -id) : number_in(context_, ns_, id);
  }
  void apply(Process& process) const {
    for (std::int32_t* id : {&process.head.pid, &process.head.ppid, &process.head.pgid, &process.head.sid})
      apply(*id);
    for (Thread& thread : process.threads) {
      apply(thread.head.tid);
      apply(thread.head.pid);
    }
    for (cryo_posix_timer& timer : process.posix_timers.timers) {
      apply(timer.clock_tid);
      apply(timer.notify_tid);
    }
  }

 private:
  const Context& context_;
  std::uint32_t ns_;
};

const Process* find(const Context& context, pid_t pid) {
  const auto found = std::find_if(context.processes.begin(), context.processes.end(),
                                  [pid](const Process& process) { return process.head.pid == pid; });
  return found == context.processes.end() ? nullptr : &*found;
}

const Process* first_of(const Context& context, std::uint32_t ns) {
  for (const Process& process : context.processes)
    for (const cryo_nested_id& id : process.nested_ids)
      if (id.ns == ns && id.number == kFirst) return find(context, id.id);
  return nullptr;
}

}  // namespace

pid_t number_in(const Context& context, std::uint32_t ns, pid_t id) {
  if (ns == 0 || id == 0) return id;
  for (const Process& process : context.processes)
    for (const cryo_nested_id& one : process.nested_ids)
      if (one.ns == ns && one.id == id) return one.number;
  return 0;
}

std::vector<pid_t> numbers_above(const Context& context, std::uint32_t ns, pid_t id) {
  std::vector<pid_t> numbers;
  while (ns != 0) {
    ns = context.namespaces.at(ns).head.parent;
    numbers.push_back(number_in(context, ns, id));
  }
  return numbers;
}

Context seen_from(const Context& context, std::uint32_t ns) {
  Context seen = context;
  const Translator translator(context, ns);
  for (Process& process : seen.processes) translator.apply(process);
  for (auto& [id, file] : seen.files) {
    translator.apply_owner(file.head.owner_pid);
    if (file.socket) translator.apply(file.socket->head.peer_pid);
    if (file.connection) translator.apply(file.connection->head.peer_pid);
    if (file.uring) translator.apply(file.uring->head.issuer);
    if (!file.pty) continue;
    translator.apply(file.pty->head.sid);
    translator.apply(file.pty->head.pgid);
  }
  for (auto& [id, inode] : seen.inodes)
    if (inode.mqueue) translator.apply(inode.mqueue->head.notify_pid);
  return seen;
}

void enter_for_children(const Context& context, const Process& process) {
  const std::uint32_t ns = process.namespaces.pid_for_children;
  if (ns == process.namespaces.pid) return;
  const Process* first = first_of(context, ns);
  if (first == nullptr) fail(EINVAL, "pid namespace {} has no first process", ns);
  const UniqueFd fd = open_proc(fmt::format("{}/ns/pid", first->head.pid));
  if (!fd || ::setns(fd.get(), CLONE_NEWPID) != 0)
    fail_errno("cannot enter the pid namespace of pid {} for its children", first->head.pid);
}

// A process is born in the namespace of its parent, or is the first one of a new one just below it.
void check_pid_namespaces(const Context& context, const RestartOptions& options, Findings& findings) {
  for (const Process& process : context.processes) {
    const std::uint32_t own = process.namespaces.pid;
    const Process* parent = find(context, process.head.ppid);
    const std::uint32_t above = parent == nullptr ? 0 : parent->namespaces.pid;
    if (own == 0 && above == 0) continue;
    if (!options.restore_pid)
      findings.problem(EINVAL, "pid {}: is in a pid namespace of its own, where ids have to be restored",
                       process.head.pid);
    const bool first = own != 0 && context.namespaces.at(own).head.parent == above &&
                       number_in(context, own, process.head.pid) == kFirst;
    if (own != above && !first)
      findings.problem(EOPNOTSUPP, "pid {}: has been forked into a pid namespace that its parent is not in",
                       process.head.pid);
  }
}

}  // namespace cryo
