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

#include <cstddef>
#include <cstdint>

namespace cryo::stub {

// What was being done when something failed: picks the words of the message.  Those from kFirstKind on are
// kinds of calls (step_kind.h).
enum class Step : std::uint16_t {
  kPrepare,  // still in C++: the ledger has a text
  kUnmap,
  kRead,
  kPidCursor,
  kCreateThread,
  kThreadId,
  kResume,
  kFirstKind
};

// When a call has done what it should.
enum class Expect : std::uint16_t {
  kSuccess,    // result is not an error
  kArgument0,  // result is the first argument
  kArgument1,  // result is the second one
  kArgument3,  // result is the fourth one
  kArgument4,  // result is the fifth one
  kBytes,  // result is the third one, the size of what the second one points to, of which the fifth one is
           // the CRC32C
  kMoved,  // result is a descriptor, which goes to the number that is the sixth argument, with the flags that
           // are the fifth
  kLocked,  // ENOMEM is no error: of mlock(2), when the memory is locked, and has pages that cannot be had
};

struct Call {
  std::int32_t number;
  Expect expect;
  Step step;
  std::uint32_t index;  // of the thing the step is about: VMA, signal, resource ...
  std::uint32_t reserved;
  std::uint64_t args[6];
};

// @count buffers of Parameters::buffers, filled with what is at @offset of a context.
struct Read {
  std::uint64_t offset;
  std::int32_t fd;
  std::uint32_t reserved;
  std::uint32_t first;
  std::uint32_t count;
};

// Tags of memory from @start on, as in a PAGE_TAGS section.
struct Tags {
  std::uint64_t start;
  const std::byte* tags;
  std::uint64_t count;  // bytes
};

struct Parameters;

struct Thread {
  Parameters* parameters;
  std::int32_t tid;     // 0: any
  std::int32_t made;    // changes: the one that it has got
  std::uint32_t index;  // in the process
  void* stack;
  std::uint64_t stack_size;
  const Call* before;  // made by the leader before it creates the thread
  const Call* calls;
  std::uint32_t nr_before;
  std::uint32_t nr_calls;
  const Call* last;  // after the credentials have changed, right before the resume
  std::uint32_t nr_last;
  std::uint64_t registers;  // what claim_registers() is told
  std::uint32_t alive;      // changes: zeroed by the kernel when a thread that got a wrong tid is gone
  cryo_resume* resume;
};

// A name in /proc that begins with the number of a thread: where that goes, kIdRoom bytes.
struct IdText {
  std::uint32_t thread;  // in Parameters::threads
  char* at;
};

// What one process tells.
struct Slot {
  Step step;            // reached so far
  std::uint16_t waits;  // 1: for other processes, or it has nothing more to do
};

// In memory shared by cr_restart and all processes of the job, up to the moment at which they run their own
// code: an array of slots follows.  They have their users' ids by then, so nothing here may decide what
// cr_restart does to others: that is in the Ledger (shared_report.h).
struct Report {
  std::uint32_t failed;   // 0; 1 by the first that fails; 2 when the rest of it is filled in
  std::uint32_t arrived;  // threads that are about to resume
  std::uint32_t peopled;  // processes that have all their threads
  std::uint32_t ready;    // processes in which nothing can fail any more but the last steps
  std::int32_t error;     // errno value
  Step step;              // of the failure
  std::uint16_t reserved;
  std::uint32_t process;  // its index, ~0: the maker
  std::uint32_t index;
  std::uint32_t thread;
  std::uint64_t address;
};

// What they tell each other before that: shared memory as well, which each of them gives up before it gets
// other ids.  An array of turns follows.
struct Gate {
  std::uint32_t mapped;  // processes whose memory is complete
};

// Of one that shares memory with others; 1 when it has come that far.
struct Turn {
  std::uint32_t in_stub;  // it has left the library to the others
  std::uint32_t memory;   // it has made the memory for all
};

struct Parameters {
  Report* report;
  Slot* slot;
  Gate* gate;
  Turn* turn;
  std::uint64_t gate_size;
  const Call* memory_calls;  // up to the point where contents can be read
  const Read* reads;
  iovec* buffers;             // changes: consumed
  const Tags* tags;           // set when contents have been read
  const Call* process_calls;  // up to the creation of threads
  const IdText* ids;          // when there are all threads
  const Call* proc_calls;     // then: files of /proc about threads
  const Call* leader_calls;   // after all other threads are set up, by the leader
  const Call* final_calls;    // when all processes have come that far: what cannot be undone
  Thread* threads;            // the leader is the first
  std::uint32_t nr_memory_calls;
  std::uint32_t nr_reads;
  std::uint32_t nr_tags;
  std::uint32_t nr_process_calls;
  std::uint32_t nr_ids;
  std::uint32_t nr_proc_calls;
  std::uint32_t nr_leader_calls;
  std::uint32_t nr_final_calls;
  std::uint32_t nr_threads;
  std::uint32_t nr_processes;  // that arrive
  std::uint32_t process;       // index
  std::uint32_t wait_mapped;   // 1: process_calls need that the memory of all processes is complete
  std::uint32_t wait_peopled;  // 1: proc_calls need that all processes have their threads
  std::int32_t handle_fd;
  std::int32_t device_fd;      // for the pid cursor, -1: none; closed before the resume
  std::int32_t coordinator;    // cr_restart; 0: in a pid namespace from where it cannot be seen
  std::uint32_t use_cursor;    // changes: clone3() may not choose tids here
  std::uint32_t set_up;        // changes: threads (the leader not among them) that are set up
  Turn* memory_of;             // whose memory it shares, which that one makes; null: its own
  std::uint32_t leader_exits;  // 1: the leader is only there to have exited ...
  std::int32_t leader_status;  // ... with this status, when everything is done
};

inline constexpr int kIdRoom = 12;  // two more than the digits that a number may have
// Who has an id that is wanted is often a short-lived process of others: the first tries come at once, the
// others after a while.
inline constexpr std::int32_t kCursorBack = 0;  // CRYO_IOC_PID_CURSOR
inline constexpr int kMaxTidTries = 200;
inline constexpr int kQuickTidTries = 10;
inline constexpr long kTidPauseNs = 20000000;
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
