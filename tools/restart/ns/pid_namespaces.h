// SPDX-License-Identifier: GPL-2.0-only
// Pid namespaces of the job: a process has a number in its own and in each one above it.
//
// The context knows processes by their pids in the requester's namespace.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <vector>

#include "context/model.h"
#include "restart/common/descriptors.h"
#include "restart/common/findings.h"
#include "restart/common/helper_process.h"

namespace cryo {

// What the process, thread, group or session `id` is called in `ns`; 0: it cannot be seen from there.
[[nodiscard]] pid_t number_in(const Context& context, std::uint32_t ns, pid_t id);
// The same in each namespace above `ns`, the requester's last.
[[nodiscard]] std::vector<pid_t> numbers_above(const Context& context, std::uint32_t ns, pid_t id);

// The context with all ids as processes in `ns` see them.
[[nodiscard]] Context seen_from(const Context& context, std::uint32_t ns);

// Those that processes have for their children, but are not in.  A process that is no longer dumpable cannot
// open the namespaces of another one: so the first process of each leaves it where all can take it.
class PidNamespaces {
 public:
  // Before any process is forked.  Throws Error.
  PidNamespaces(const Context& context, const Descriptors& descriptors);

  // By the first process of `ns`, as soon as it is there.  Throws Error.
  void leave(std::uint32_t ns) const;
  // The next child of the calling process is going to be in another pid namespace than itself, as that of the
  // process was.  When all processes exist.  Throws Error.
  void enter_for_children(const Process& process) const;

 private:
  const Context& context_;
  std::map<std::uint32_t, FdPair> boxes_;  // to leave it in, to take it from: parked
};

// If nobody is in what the process has for its children: by the process itself, which forks nothing of its
// own from then on, and has no other threads yet.  Throws Error.
void make_empty_for_children(const Context& context, const Process& process);

void check_pid_namespaces(const Context& context, const RestartOptions& options, Findings& findings);

}  // namespace cryo
