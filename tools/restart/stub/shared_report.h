// SPDX-License-Identifier: GPL-2.0-only
// Memory that cr_restart shares with all processes of the job, from before the first fork on.
//
// The report is what the restart stub tells: a process has it until it runs its own code.  The ledger goes
// with the rest of cr_restart's memory, and the gate a little later, before a process gets the ids of its
// user: what cr_restart does to others when it fails is decided by the ledger alone.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "restart/stub/stub.h"

namespace cryo {

inline constexpr std::uint32_t kMaxStrays = 256;
inline constexpr std::uint32_t kOfCrRestart = ~0U;

// A process that got a wrong pid and ended at once.
struct Stray {
  std::int32_t pid;      // where who waits for it is; 0: room
  std::uint32_t waiter;  // whose child it is: that node of the tree, or kOfCrRestart
  std::int32_t signal;   // by which that one has been told of its end
};

struct Ledger {
  std::uint32_t created;     // 1: all processes exist
  std::int32_t maker;        // 0: it has not begun
  std::uint32_t committing;  // 1: from here on the job may be running
  std::uint32_t locked;      // LedgerLock
  std::uint32_t ending;      // 1: cr_restart is about to kill all of them, and nothing new is to be made
  std::uint32_t deferring;   // DeathDeferred: processes that cr_restart waits for before it does
  Stray strays[kMaxStrays];
  char text[2000];          // stub::Step::kPrepare: the whole message
  std::uint32_t paths_len;  // bytes of them in use
  // Made by the restart, each ended by NUL: removed when it fails.
  std::uint64_t more_at, more_size;  // where they are, in bytes from here, if more_size is not 0; else:
  char paths[1 << 18];
};
[[nodiscard]] std::span<char> paths_of(Ledger& ledger);

// By whoever has forked it, one process at a time.  False: there is room for no more until those that are
// there have been waited for.
[[nodiscard]] bool note_stray(Ledger& ledger, const Stray& stray);
// Whoever is to wait for one, and waits for something else.
void wake_waiter(Ledger& ledger, std::uint32_t waiter);
[[nodiscard]] std::vector<Stray> strays_of(const Ledger& ledger, std::uint32_t waiter = kOfCrRestart);
// By its parent, when it has waited for it: false for any other process.
bool forget_stray(Ledger& ledger, pid_t stray, std::uint32_t waiter = kOfCrRestart);

// One process in it.
struct Place {
  std::int32_t pid;       // set by who forked it; 0: not yet, or gone
  std::int32_t number;    // what it is called where its forker is
  std::uint32_t turn;     // changes: number of the step that it may take now
  std::uint32_t settled;  // of one that shares memory with others: 1 when it will wait for its turn
  std::uint32_t ended;    // 1: it has done all that it was for, and goes, as it should
  std::int32_t door;      // who forks it from the user namespace of its pid namespace; 0: nobody, or gone
};

// Both, for those who have them.
struct Shared {
  stub::Report* report = nullptr;
  Ledger* ledger = nullptr;
};

class SharedReport {
 public:
  // With room for so many bytes of paths, at least.
  explicit SharedReport(std::size_t slots, std::size_t paths = 0);
  ~SharedReport();
  SharedReport(const SharedReport&) = delete;
  SharedReport& operator=(const SharedReport&) = delete;

  [[nodiscard]] stub::Report& operator*() const { return *report_; }
  [[nodiscard]] stub::Report* get() const { return report_; }
  [[nodiscard]] stub::Report* operator->() const { return report_; }
  [[nodiscard]] std::span<stub::Slot> slots() const;
  [[nodiscard]] Ledger& ledger() const { return *ledger_; }
  [[nodiscard]] std::span<Place> places() const;
  [[nodiscard]] Shared both() const { return {report_, ledger_}; }

 private:
  stub::Report* report_ = nullptr;
  Ledger* ledger_ = nullptr;
  std::size_t slots_;
  std::size_t more_;  // bytes of paths behind the places
};

// One process at a time does what others must not do at the same time.
class LedgerLock {
 public:
  explicit LedgerLock(Ledger& ledger);
  ~LedgerLock();
  LedgerLock(const LedgerLock&) = delete;
  LedgerLock& operator=(const LedgerLock&) = delete;

 private:
  Ledger& ledger_;
};

// Bytes of a report with that many slots, and of the gate behind it, which begins on a page of its own.
[[nodiscard]] std::size_t report_size(std::size_t slots);
[[nodiscard]] std::size_t gate_size(std::size_t slots);
// Of a report, and of a ledger, wherever it is mapped.
[[nodiscard]] stub::Slot* slots_of(stub::Report* report);
[[nodiscard]] stub::Gate* gate_of(stub::Report* report, std::size_t slots);
[[nodiscard]] stub::Turn* turns_of(stub::Gate* gate);
[[nodiscard]] Place* places_of(Ledger* ledger);

// The first to fail fills in the report: true for that one.
[[nodiscard]] bool claim_failure(stub::Report& report);
void publish_failure(stub::Report& report);
// Until what has been claimed is published; false: it has not been within `limit`.
[[nodiscard]] bool await_failure(const stub::Report& report, std::chrono::milliseconds limit);
// Whether the last steps have begun, in which files are cut: all processes are ready, so many.
[[nodiscard]] bool may_be_cutting(const stub::Report& report, std::size_t processes);
// A message in the caller's own words, unless somebody has failed before.
void report_failure(const Shared& shared, std::uint32_t process, const char* text, int error);

// What a report says of a failure, read once: who wrote it may have the ids of another user, so none of it
// need be true.
struct FailureReport {
  stub::Step step = stub::Step::kPrepare;
  std::uint32_t process = 0, thread = 0, index = 0;
  std::uint64_t address = 0;
  int error = EIO;   // an errno value, or a CR_E* code
  std::string text;  // of the ledger
};
[[nodiscard]] FailureReport read_failure(const stub::Report& report, const Ledger& ledger);
[[nodiscard]] stub::Step read_step(const stub::Slot& slot);

}  // namespace cryo
