// SPDX-License-Identifier: GPL-2.0-only
#include "restart/engine/failure.h"

#include <chrono>
#include <cstring>

#include "base/error.h"
#include "restart/common/id_holder.h"
#include "restart/stub/step_kind.h"

namespace cryo {
namespace {

using stub::Step;

// The holder of the id, as far as that can be found here.
std::string id_failure(const Process& process, std::uint32_t thread) {
  std::string holder;
  if (process.namespaces.pid == 0 && thread < process.threads.size())
    holder = IdHolders(std::chrono::milliseconds(0)).find(process.threads[thread].head.tid);
  return holder.empty()
             ? fmt::format("cannot get its id: lost to other processes in {} attempts", stub::kMaxTidTries)
             : fmt::format("its id is in use by {}", holder);
}

std::string what_failed(const FailureReport& failure, const Context& context, const Process& process) {
  switch (failure.step) {
    case Step::kPrepare:
      return failure.text;
    case Step::kUnmap:
      return "cannot unmap the memory that processes share during the restart";
    case Step::kRead:
      return fmt::format("cannot read the contents of memory at {:#x} from the context", failure.address);
    case Step::kPidCursor:
      return "cannot choose its thread id";
    case Step::kCreateThread:
      return "cannot create it";
    case Step::kThreadId:
      return id_failure(process, failure.thread);
    case Step::kResume:
      return "the module refused to resume the thread";
    default:
      return step_message(failure.step,
                          {context, process, failure.index, failure.thread, failure.address, failure.error});
  }
}

std::string action_of(Step step) {
  switch (step) {
    case Step::kPrepare:
      return "open files";
    case Step::kUnmap:
      return "clear the address space";
    case Step::kRead:
      return "read memory from the context";
    case Step::kPidCursor:
    case Step::kThreadId:
    case Step::kCreateThread:
      return "create threads";
    case Step::kResume:
      return "resume";
    default:
      return step_action(step);
  }
}

}  // namespace

std::string describe_failure(const FailureReport& failure, const Context& context) {
  // Not yet a process of the job, and not yet in the stub.
  if (failure.process >= context.processes.size()) {
    if (context.processes.size() > 1) return failure.text;
    return fmt::format("pid {}: {}", context.processes.front().head.pid, failure.text);
  }
  const Process& process = context.processes[failure.process];
  std::string who = fmt::format("pid {}", process.head.pid);
  if (failure.thread != 0 && failure.thread < process.threads.size())
    who += fmt::format(", thread {}", process.threads[failure.thread].head.tid);
  const std::string what = what_failed(failure, context, process);
  // In C++ the text has the reason already.
  if (failure.step == Step::kPrepare) return fmt::format("{}: {}", who, what);
  return fmt::format("{}: {}: {}", who, what, errno_text(failure.error));
}

std::string describe_door_end(pid_t to_be_forked, const siginfo_t& end) {
  return fmt::format("the process that was to fork pid {}, the first one of a pid namespace, {} {}",
                     to_be_forked, end.si_code == CLD_EXITED ? "exited with status" : "was killed by signal",
                     end.si_status);
}

std::string describe_progress(stub::Step step) {
  return fmt::format("while trying to {}", action_of(step));
}

}  // namespace cryo
