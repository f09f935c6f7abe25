// SPDX-License-Identifier: GPL-2.0-only
// Who is told by signals about an open file: F_SETOWN, O_ASYNC.  In the stub, because the owner may be one
// of the threads that it makes.
//
// The kernel sends each signal with the rights of who has set the owner: a process of root's that does so for
// one of a user's would have him signal whom only root may.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "restart/files/files.h"
#include "restart/rights/names.h"
#include "restart/stub/step_kind.h"

namespace cryo {
namespace {

const StepKind kOwnerStep("set a signal owner (F_SETOWN)", [](const FailedCall& call) {
  return fmt::format("cannot set the signal owner (F_SETOWN) of {}", failed_file(call));
});

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

// Those that have it in their tables, or the one that keeps it for those on their way to it.
std::vector<std::size_t> holders_of(const OwnerPlanInput& input, std::uint32_t file) {
  std::vector<std::size_t> holders;
  for (std::size_t i = 0; i < input.context.processes.size(); ++i) {
    const std::vector<cryo_fd>& fds = input.context.processes[i].fds;
    if (std::any_of(fds.begin(), fds.end(), [file](const cryo_fd& fd) { return fd.file == file; }))
      holders.push_back(i);
  }
  if (const auto keeper = input.kept_by.find(file); keeper != input.kept_by.end())
    holders.push_back(keeper->second);
  return holders;
}

}  // namespace

// Who has given up the rights that he had then sets it with those that he has left; which of several users
// that is, nobody knows.
std::optional<std::size_t> owner_setter(const Context& context, const File& file,
                                        const std::vector<std::size_t>& holders) {
  std::optional<std::size_t> user;
  OwnIds users{};
  bool several = false;
  for (const std::size_t holder : holders) {
    const Process& process = context.processes[holder];
    if (!process.creds || process.threads.empty()) continue;
    const OwnIds ids = *rights_of(context, process).ids;
    if (file.head.owner_known != 0 && ids.uid == file.head.owner_uid && ids.euid == file.head.owner_euid)
      return holder;
    if (ids.uid == 0 || ids.euid == 0) continue;
    several |= user && ids != users;
    users = ids;
    if (!user) user = holder;
  }
  if (several) return {};
  if (user || file.head.owner_known != 0 || holders.empty()) return user;
  return holders.front();
}

void plan_owners(const OwnerPlanInput& input, CallList& calls, StubArea& area) {
  for (const auto& [id, fd] : input.fds) {
    const File& file = input.context.file(id);
    const cryo_file& head = file.head;
    if (static_cast<int>(head.flags) & O_PATH) continue;
    if (head.owner_signal != 0) calls.add(kOwnerStep, id, SYS_fcntl, fd, F_SETSIG, head.owner_signal);
    if (head.owner_pid != 0 && owner_setter(input.context, file, holders_of(input, id)) == input.index) {
      auto* owner = area.array<f_owner_ex>(1);
      *owner = owner_now(input, head);
      if (owner->pid != 0) calls.add(kOwnerStep, id, SYS_fcntl, fd, F_SETOWN_EX, owner);
    }
    if (static_cast<int>(head.flags) & O_ASYNC) {
      const int now = ::fcntl(fd, F_GETFL);
      calls.add(kOwnerStep, id, SYS_fcntl, fd, F_SETFL, now | O_ASYNC);
    }
  }
}

}  // namespace cryo
