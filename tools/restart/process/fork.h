// SPDX-License-Identifier: GPL-2.0-only
// A child with the pid that it had.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <vector>

#include "restart/process/vm_child.h"
#include "restart/stub/shared_report.h"
#include "restart/stub/stub.h"

namespace cryo {

struct ForkRequest {
  pid_t pid = 0;                                 // 0: any
  const std::set<pid_t>* taken = nullptr;        // but these, which are those of others
  const std::set<pid_t>* outer_taken = nullptr;  // and these, where cr_restart is
  int exit_signal = 0;                           // for the caller
  bool sibling = false;                          // a child of the caller's parent, which gets SIGCHLD
  std::uint32_t waiter = kOfCrRestart;           // of a sibling: the node of that parent
  std::uint64_t timer_slack_ns = 0;              // default timer slack; 0: as the caller's current one
  int device_fd = -1;                            // for the module's pid cursor, -1: none
  Ledger* ledger;                                // of the strays
  bool new_pid_namespace = false;                // of which it is the first process
  std::vector<pid_t> outer{};     // its pids in the namespaces above the caller's, cr_restart's last
  int handle_fd = -1;             // of the restart: to get these
  std::int32_t* noted = nullptr;  // gets the number of the child where cr_restart is
  VmChild* shared = nullptr;      // the child shares our memory, and begins there
  int tries = stub::kMaxTidTries;
};

// With CAP_CHECKPOINT_RESTORE the kernel gives the pid asked for; for others the module's pid cursor does.
// Returns as fork(2) does, but never in a child that shares our memory.  Throws Error (EBUSY).
[[nodiscard]] pid_t fork_with_pid(const ForkRequest& request);

// For a child that only the waiter of the request can wait for, and is to forget: notes it in the ledger. The
// caller wakes the waiter when the child has been killed, or has ended.  Throws Error (EBUSY).
void leave_to_waiter(const ForkRequest& request, pid_t stray);

// Whether a process has ended: its parent may be stopped in the middle of becoming what it was.  One whose
// main thread alone has exited has not.
[[nodiscard]] bool has_ended(pid_t pid);
// The same, and whether a signal has stopped it, which the user can send whose ids it has, or has had for a
// moment.
enum class Life { kRuns, kStopped, kEnded };
[[nodiscard]] Life life_of(pid_t pid);
[[nodiscard]] pid_t parent_pid_of(pid_t pid);  // 0: it is gone

// Puts the cursor back where somebody died who had moved it, of whatever restart.
void restore_cursor(int device_fd);

}  // namespace cryo
