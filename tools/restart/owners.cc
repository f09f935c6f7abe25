// SPDX-License-Identifier: GPL-2.0-only
// Who is told by signals about an open file: F_SETOWN, O_ASYNC.  In the stub, because the owner may be one
// of the threads that it makes.
#include <fcntl.h>
#include <unistd.h>

#include "restart/files.h"

namespace cryo {
namespace {

bool in_context(const Context& context, const cryo_file& head) {
  for (const Process& process : context.processes) {
    if (head.owner_pid == process.head.pid || -head.owner_pid == process.head.pgid) return true;
    for (const Thread& thread : process.threads)
      if (head.owner_thread != 0 && head.owner_pid == thread.head.tid) return true;
  }
  return false;
}

// The owner as it is called now; 0: nobody that can be told.
f_owner_ex owner_now(const OwnerPlanInput& input, const cryo_file& head) {
  if (!in_context(input.context, head)) return {F_OWNER_PID, 0};
  if (head.owner_pid < 0) {
    // The group that the job was started in may be cr_restart's now.
    const bool own = -head.owner_pid == input.process.head.pgid;
    return {F_OWNER_PGRP, own ? ::getpgrp() : -head.owner_pid};
  }
  if (!input.options.restore_pid)
    return {F_OWNER_PID, head.owner_pid == input.process.head.pid ? ::getpid() : 0};
  return {head.owner_thread != 0 ? F_OWNER_TID : F_OWNER_PID, head.owner_pid};
}

}  // namespace

void plan_owners(const OwnerPlanInput& input, CallList& calls, StubArea& area) {
  for (const auto& [id, fd] : input.fds) {
    const File& file = input.context.file(id);
    const cryo_file& head = file.head;
    if (static_cast<int>(head.flags) & O_PATH) continue;
    if (head.owner_signal != 0) calls.add(stub::Step::kOwner, id, SYS_fcntl, fd, F_SETSIG, head.owner_signal);
    if (head.owner_pid != 0) {
      auto* owner = area.array<f_owner_ex>(1);
      *owner = owner_now(input, head);
      if (owner->pid != 0) calls.add(stub::Step::kOwner, id, SYS_fcntl, fd, F_SETOWN_EX, owner);
    }
    if (static_cast<int>(head.flags) & O_ASYNC) {
      const int now = ::fcntl(fd, F_GETFL);
      calls.add(stub::Step::kOwner, id, SYS_fcntl, fd, F_SETFL, now | O_ASYNC);
    }
  }
}

}  // namespace cryo
