// SPDX-License-Identifier: GPL-2.0-only
#include "restart/engine/failure.h"

#include <chrono>
#include <cstring>
#include <iterator>

#include "base/error.h"
#include "restart/engine/id_holder.h"

namespace cryo {
namespace {

using stub::Step;

std::string vma_name(const Context& context, const Process& process, std::uint32_t index) {
  const auto mm = context.mms.find(process.head.mm);
  if (mm == context.mms.end() || index >= mm->second.vmas.size()) return "memory";
  const cryo_vma& vma = mm->second.vmas[index];
  std::string name = "anonymous memory";
  if (vma.kind == CRYO_VMA_FILE)
    name = context.file(vma.file).path;
  else if (vma.kind == CRYO_VMA_SHMEM)
    name = "shared anonymous memory";
  return fmt::format("{} at {:#x}-{:#x}", name, vma.start, vma.end);
}

std::string file_name(const Context& context, std::uint32_t id) {
  const auto file = context.files.find(id);
  return file == context.files.end() ? fmt::format("file {}", id) : file->second.path;
}

std::string segment_name(const Context& context, std::uint32_t inode) {
  const auto found = context.inodes.find(inode);
  return found == context.inodes.end() || !found->second.shm ? "of a file"
                                                             : std::to_string(found->second.shm->perm.id);
}

const char* credential_name(std::uint32_t index) {
  static constexpr const char* kNames[] = {"keep capabilities",
                                           "reduce the capability bounding set",
                                           "set the supplementary groups",
                                           "set the group ids",
                                           "set the user ids",
                                           "set the securebits",
                                           "set the capabilities",
                                           "set the ambient capabilities",
                                           "set no_new_privs",
                                           "consent to checkpoints by its user once more"};
  return index < std::size(kNames) ? kNames[index] : "set the credentials";
}

const char* area_step_name(Step step) {
  switch (step) {
    case Step::kMapContext:
      return "bring the contents of";
    case Step::kMap:
      return "map";
    case Step::kAdvise:
      return "restore the advice (madvise) of";
    case Step::kVmaName:
      return "name";
    case Step::kGuard:
      return "install guard pages (MADV_GUARD_INSTALL) in";
    case Step::kLockMemory:
      return "lock";
    default:
      return "set the protection of";
  }
}

// Who has the id, as far as that can be asked here.
std::string id_failure(const Process& process, std::uint32_t thread) {
  std::string holder;
  if (process.namespaces.pid == 0 && thread < process.threads.size())
    holder = IdHolders(std::chrono::milliseconds(0)).find(process.threads[thread].head.tid);
  return holder.empty() ? fmt::format("its id was not to be had in {} tries", stub::kMaxTidTries)
                        : fmt::format("its id is in use by {}", holder);
}

std::string directory_failure(bool root, std::uint32_t thread) {
  if (thread != 0) return fmt::format("cannot give thread {} a {} directory of its own", thread, root ? "root" : "working");
  return root ? "cannot change its root directory" : "cannot return to its working directory";
}

// ESTALE is what the stub says of other bytes.
std::string file_failure(Step step, int error, const std::string& name) {
  if (step == Step::kThreadFile) return fmt::format("cannot open {} again", name);
  if (step == Step::kOldEnd && error != ESTALE)
    return fmt::format("{} cannot be read, and is not cut: whether it has been written anew is not known", name);
  if (step == Step::kOldEnd) return fmt::format("{} has been written anew while the restart was under way, and is not cut", name);
  return fmt::format("cannot cut {} back to its size at the checkpoint", name);
}

std::string what_failed(const FailureReport& failure, const Context& context, const Process& process) {
  const std::uint32_t index = failure.index;
  switch (failure.step) {
    case Step::kPrepare:
      return failure.text;
    case Step::kKernelMapping:
      return fmt::format("cannot move the kernel's vdso mappings {}", index ? "to their old place" : "aside");
    case Step::kUnmap:
      return fmt::format("cannot clear the address space from {:#x}", failure.address);
    case Step::kRead:
      return fmt::format("cannot read the contents of memory at {:#x} from the context", failure.address);
    case Step::kShare:
      return "cannot make shared anonymous memory";
    case Step::kNotify:
      return fmt::format("descriptor {}: cannot ask to be told of messages", index);
    case Step::kAttach:
      return fmt::format("cannot attach System V shared memory {}", segment_name(context, index));
    case Step::kMapContext:
    case Step::kMap:
    case Step::kAdvise:
    case Step::kVmaName:
    case Step::kGuard:
    case Step::kLockMemory:
    case Step::kProtect:
      return fmt::format("cannot {} {}", area_step_name(failure.step), vma_name(context, process, index));
    case Step::kMmFields:
      return "cannot set the addresses of code, heap, stack and arguments (PR_SET_MM_MAP)";
    case Step::kThpDisable:
      return "cannot set PR_SET_THP_DISABLE";
    case Step::kMembarrier:
      return fmt::format("cannot register for membarrier command {:#x}", std::uint64_t{1} << (index & 63));
    case Step::kSeal:
      return "cannot seal a memfd";
    case Step::kPersonality:
      return "cannot set the personality";
    case Step::kSigaction:
      return fmt::format("cannot set the action of signal {}", index);
    case Step::kClose:
      return "cannot close a working descriptor";
    case Step::kFileLock:
      return fmt::format("cannot lock {} again", file_name(context, index));
    case Step::kTimerSlack:
      return "cannot set the timer slack";
    case Step::kPidCursor:
      return "cannot choose its thread id";
    case Step::kCreateThread:
      return "cannot create it";
    case Step::kThreadId:
      return id_failure(process, failure.thread);
    case Step::kThreadName:
      return "cannot set its name";
    case Step::kThreadPointers:
      return index ? "cannot set the list of robust futexes" : "cannot set the address of its id";
    case Step::kAltStack:
      return "cannot set the alternate signal stack";
    case Step::kAffinity:
      return "cannot set the CPU affinity";
    case Step::kScheduler:
      return "cannot set the scheduling policy";
    case Step::kIoPriority:
      return "cannot set the I/O priority";
    case Step::kDeathSignal:
      return "cannot set the parent-death signal";
    case Step::kPendingSignal:
      return fmt::format("cannot make signal {} pending again", index);
    case Step::kLimit:
      return fmt::format("cannot set the limit of {}", limit_name(index));
    case Step::kCredentials:
      return fmt::format("cannot {}", credential_name(index));
    case Step::kTruncate:
    case Step::kOldEnd:
    case Step::kThreadFile:
      return file_failure(failure.step, failure.error, file_name(context, index));
    case Step::kDumpable:
      return "cannot set PR_SET_DUMPABLE";
    case Step::kTimer:
      return fmt::format("cannot start interval timer {}", index);
    case Step::kRseq:
      return "cannot register its restartable sequences area";
    case Step::kResume:
      return "the module refused the thread";
    case Step::kThreadDirectory:
    case Step::kRoot:
      return directory_failure(failure.step == Step::kRoot, index);
    case Step::kMempolicy:
      return "cannot set a NUMA memory policy";
    case Step::kOwner:
      return fmt::format("cannot set who gets the signals of {}", file_name(context, index));
    case Step::kTimerfd:
      return fmt::format("cannot set the timer of descriptor {}", index);
    case Step::kProtectionKey:
      return fmt::format("cannot allocate memory protection key {}", index);
    case Step::kRing:
      return fmt::format("cannot enable the io_uring at descriptor {}", index);
    case Step::kPosixTimer:
      return fmt::format("cannot restore POSIX timer {}", index);
  }
  return "unknown step";
}

}  // namespace

std::string limit_name(std::uint32_t resource) {
  static constexpr const char* kNames[] = {"CPU time (RLIMIT_CPU)",
                                           "file size (RLIMIT_FSIZE)",
                                           "data segment (RLIMIT_DATA)",
                                           "stack (RLIMIT_STACK)",
                                           "core file (RLIMIT_CORE)",
                                           "resident set (RLIMIT_RSS)",
                                           "processes (RLIMIT_NPROC)",
                                           "open files (RLIMIT_NOFILE)",
                                           "locked memory (RLIMIT_MEMLOCK)",
                                           "address space (RLIMIT_AS)",
                                           "file locks (RLIMIT_LOCKS)",
                                           "pending signals (RLIMIT_SIGPENDING)",
                                           "message queues (RLIMIT_MSGQUEUE)",
                                           "nice value (RLIMIT_NICE)",
                                           "real-time priority (RLIMIT_RTPRIO)",
                                           "real-time run time (RLIMIT_RTTIME)"};
  return resource < std::size(kNames) ? kNames[resource] : fmt::format("resource {}", resource);
}

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
  return fmt::format("{}: {}: {}", who, what, std::strerror(failure.error));
}

std::string describe_progress(stub::Step step) {
  return step == Step::kPrepare ? "while its files were being opened"
                                : fmt::format("while its state was being restored (step {})", static_cast<int>(step));
}

}  // namespace cryo
