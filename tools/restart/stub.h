// SPDX-License-Identifier: GPL-2.0-only
// What the restart stub is told to do.
//
// The stub is the last user code that runs before a process is again what it was: it has been copied
// into a hole of the address space, unmaps everything else, and then carries out a list of system
// calls that was drawn up while there still was a C++ library (see stub_area.h).  It knows nothing
// about contexts: all meaning is in the list.
//
// All pointers are valid in the address space of the stub.  Structures are filled once and, apart
// from the words marked so, only read.
#pragma once

#include <cryo/ioctl.h>
#include <sys/uio.h>

#include <cstdint>

namespace cryo::stub {

// What was being done when something failed: picks the words of the message (failure.cc).
enum class Step : std::uint16_t {
  kPrepare,  // still in C++: the report has a text
  kKernelMapping,
  kUnmap,
  kMap,
  kAdvise,
  kRead,
  kShare,
  kLockMemory,
  kProtect,
  kMmFields,
  kThpDisable,
  kMembarrier,
  kSeal,
  kPersonality,
  kSigaction,
  kClose,
  kFileLock,
  kTimerSlack,
  kPidCursor,
  kCreateThread,
  kThreadId,
  kThreadName,
  kThreadPointers,
  kAltStack,
  kAffinity,
  kScheduler,
  kIoPriority,
  kDeathSignal,
  kPendingSignal,
  kLimit,
  kCredentials,
  kTruncate,
  kDumpable,
  kTimer,
  kRseq,
  kResume,
  kOwner,
  kTimerfd,
  kPosixTimer,
  kMempolicy,
};

// When a call has done what it should.
enum class Expect : std::uint16_t {
  kSuccess,    // result is not an error
  kArgument0,  // result is the first argument
  kArgument3,  // result is the fourth one
  kArgument4,  // result is the fifth one
};

struct Call {
  std::int32_t number;
  Expect expect;
  Step step;
  std::uint32_t index;  // of the thing the step is about: VMA, signal, resource ...
  std::uint32_t reserved;
  std::uint64_t args[6];
};

// @count buffers of Parameters::buffers, filled with what is at @offset of the context.
struct Read {
  std::uint64_t offset;
  std::uint32_t first;
  std::uint32_t count;
};

struct Parameters;

struct Thread {
  Parameters* parameters;
  std::int32_t tid;     // 0: any
  std::uint32_t index;  // in the process
  void* stack;
  std::uint64_t stack_size;
  const Call* before;  // made by the leader before it creates the thread
  const Call* calls;
  std::uint32_t nr_before;
  std::uint32_t nr_calls;
  const Call* last;  // after the credentials have changed, right before the resume
  std::uint32_t nr_last;
  std::uint32_t alive;  // changes: zeroed by the kernel when a thread that got a wrong tid is gone
  cryo_resume* resume;
};

// In memory shared with cr_restart.
struct Report {
  std::uint32_t failed;   // 0, or 1 by the first that fails
  std::uint32_t arrived;  // threads that are about to resume
  std::int32_t error;     // errno value
  Step step;              // of the failure, or reached so far
  std::uint16_t reserved;
  std::uint32_t index;
  std::uint32_t thread;
  std::uint64_t address;
  char text[2000];     // kPrepare: the whole message
  char created[4096];  // paths made by the restart, each ended by NUL: removed when it fails
};

struct Parameters {
  Report* report;
  const Call* memory_calls;  // up to the point where contents can be read
  const Read* reads;
  iovec* buffers;             // changes: consumed
  const Call* process_calls;  // up to the creation of threads
  const Call* leader_calls;   // after all other threads are set up
  Thread* threads;            // the leader is the first
  std::uint32_t nr_memory_calls;
  std::uint32_t nr_reads;
  std::uint32_t nr_process_calls;
  std::uint32_t nr_leader_calls;
  std::uint32_t nr_threads;
  std::int32_t context_fd;
  std::int32_t handle_fd;
  std::int32_t device_fd;    // for the pid cursor, -1: none; closed before the resume
  std::uint32_t use_cursor;  // changes: clone3() may not choose tids here
  std::uint32_t set_up;      // changes: threads (the leader not among them) that are set up
};

inline constexpr int kMaxTidTries = 200;
inline constexpr std::uint64_t kThreadStackSize = 8192;
inline constexpr int kFailureStatus = 125;  // exit status of a child that wrote a report

}  // namespace cryo::stub

// The code of the stub, one section; the linker provides these bounds.
extern "C" {
[[gnu::visibility("hidden")]] extern const char __start_cryo_stub[];
[[gnu::visibility("hidden")]] extern const char __stop_cryo_stub[];

// Where it starts: argument is a stub::Parameters.  Never called where it is linked.
[[gnu::visibility("hidden")]] void cryo_stub_main(void* parameters);
}
