// SPDX-License-Identifier: GPL-2.0-only
#include "restart/stub/shared_report.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include "base/error.h"
#include "base/exit_codes.h"

namespace cryo {

namespace {

std::size_t whole_pages(std::size_t size) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (size + page - 1) / page * page;
}

std::size_t gate_offset(std::size_t slots) {
  static_assert(sizeof(stub::Report) % alignof(stub::Slot) == 0);
  return whole_pages(sizeof(stub::Report) + slots * sizeof(stub::Slot));
}

}  // namespace

std::size_t gate_size(std::size_t slots) {
  static_assert(sizeof(stub::Gate) % alignof(stub::Turn) == 0);
  return whole_pages(sizeof(stub::Gate) + slots * sizeof(stub::Turn));
}

std::size_t report_size(std::size_t slots) {
  return gate_offset(slots) + gate_size(slots);
}

stub::Gate* gate_of(stub::Report* report, std::size_t slots) {
  return reinterpret_cast<stub::Gate*>(reinterpret_cast<std::byte*>(report) + gate_offset(slots));
}

stub::Turn* turns_of(stub::Gate* gate) {
  return reinterpret_cast<stub::Turn*>(gate + 1);
}

stub::Slot* slots_of(stub::Report* report) {
  return reinterpret_cast<stub::Slot*>(report + 1);
}

Place* places_of(Ledger* ledger) {
  return reinterpret_cast<Place*>(ledger + 1);
}

bool note_stray(Ledger& ledger, const Stray& stray) {
  for (Stray& place : ledger.strays) {
    if (__atomic_load_n(&place.pid, __ATOMIC_ACQUIRE) != 0) continue;
    place.waiter = stray.waiter;
    place.signal = stray.signal;
    __atomic_store_n(&place.pid, stray.pid, __ATOMIC_RELEASE);
    return true;
  }
  return false;
}

void wake_waiter(Ledger& ledger, std::uint32_t waiter) {
  if (waiter == kOfCrRestart) return;
  for (std::uint32_t* const word : {&places_of(&ledger)[waiter].turn, &ledger.created})
    ::syscall(SYS_futex, word, FUTEX_WAKE, 0x7fffffff);
}

std::vector<Stray> strays_of(const Ledger& ledger, std::uint32_t waiter) {
  std::vector<Stray> strays;
  for (const Stray& place : ledger.strays)
    if (const pid_t pid = __atomic_load_n(&place.pid, __ATOMIC_ACQUIRE); pid != 0 && place.waiter == waiter)
      strays.push_back({pid, waiter, place.signal});
  return strays;
}

bool forget_stray(Ledger& ledger, pid_t stray, std::uint32_t waiter) {
  for (Stray& place : ledger.strays) {
    if (__atomic_load_n(&place.pid, __ATOMIC_ACQUIRE) != stray || place.waiter != waiter) continue;
    __atomic_store_n(&place.pid, 0, __ATOMIC_RELEASE);
    return true;
  }
  return false;
}

std::span<char> paths_of(Ledger& ledger) {
  if (ledger.more_size == 0) return ledger.paths;
  return {reinterpret_cast<char*>(&ledger) + ledger.more_at, ledger.more_size};
}

namespace {

std::size_t ledger_size(std::size_t slots) {
  static_assert(sizeof(Ledger) % alignof(Place) == 0);
  return sizeof(Ledger) + slots * sizeof(Place);
}

void* map_shared(std::size_t size) {
  void* memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) fail_errno("cannot map {} bytes", size);
  return memory;
}

}  // namespace

SharedReport::SharedReport(std::size_t slots, std::size_t paths)
    : slots_(slots), more_(paths > sizeof(Ledger::paths) ? paths : 0) {
  report_ = new (map_shared(report_size(slots))) stub::Report{};
  new (slots_of(report_)) stub::Slot[slots]{};
  stub::Gate* const gate = new (gate_of(report_, slots)) stub::Gate{};
  new (turns_of(gate)) stub::Turn[slots]{};
  try {
    // All zeros; the names are large, and not touched in vain.
    ledger_ = new (map_shared(ledger_size(slots) + more_)) Ledger;
  } catch (...) {
    ::munmap(report_, report_size(slots));
    throw;
  }
  new (places_of(ledger_)) Place[slots]{};
  ledger_->more_at = ledger_size(slots);
  ledger_->more_size = more_;
}

SharedReport::~SharedReport() {
  ::munmap(report_, report_size(slots_));
  ::munmap(ledger_, ledger_size(slots_) + more_);
}

std::span<Place> SharedReport::places() const {
  return {places_of(ledger_), slots_};
}

std::span<stub::Slot> SharedReport::slots() const {
  return {slots_of(report_), slots_};
}

LedgerLock::LedgerLock(Ledger& ledger) : ledger_(ledger) {
  // Whoever dies in it takes all others along.
  while (__atomic_exchange_n(&ledger_.locked, 1, __ATOMIC_ACQUIRE) != 0) ::sched_yield();
}

LedgerLock::~LedgerLock() {
  __atomic_store_n(&ledger_.locked, 0, __ATOMIC_RELEASE);
}

bool claim_failure(stub::Report& report) {
  std::uint32_t none = 0;
  return __atomic_compare_exchange_n(&report.failed, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void publish_failure(stub::Report& report) {
  __atomic_store_n(&report.failed, 2, __ATOMIC_RELEASE);
}

bool await_failure(const stub::Report& report, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (__atomic_load_n(&report.failed, __ATOMIC_ACQUIRE) == 1) {
    if (std::chrono::steady_clock::now() >= end) return false;
    const timespec pause{0, 1000000};
    ::nanosleep(&pause, nullptr);
  }
  return true;
}

bool may_be_cutting(const stub::Report& report, std::size_t processes) {
  return __atomic_load_n(&report.ready, __ATOMIC_ACQUIRE) >= processes;
}

void report_failure(const Shared& shared, std::uint32_t process, const char* text, int error) {
  stub::Report& report = *shared.report;
  if (!claim_failure(report)) return;
  std::strncpy(shared.ledger->text, text, sizeof(shared.ledger->text) - 1);
  report.step = stub::Step::kPrepare;
  report.process = process;
  report.error = error;
  publish_failure(report);
}

namespace {

// One that the code of a restart can have: it becomes an exit status.
bool is_error_number(int error) {
  return (error > 0 && error <= EHWPOISON) || (error >= kErrTempFail && error <= kErrPtraced);
}

}  // namespace

FailureReport read_failure(const stub::Report& report, const Ledger& ledger) {
  FailureReport failure;
  failure.step = __atomic_load_n(&report.step, __ATOMIC_RELAXED);
  failure.process = __atomic_load_n(&report.process, __ATOMIC_RELAXED);
  failure.thread = __atomic_load_n(&report.thread, __ATOMIC_RELAXED);
  failure.index = __atomic_load_n(&report.index, __ATOMIC_RELAXED);
  failure.address = __atomic_load_n(&report.address, __ATOMIC_RELAXED);
  const int error = __atomic_load_n(&report.error, __ATOMIC_RELAXED);
  failure.error = is_error_number(error) ? error : EIO;
  failure.text.assign(ledger.text, ::strnlen(ledger.text, sizeof(ledger.text)));
  if (failure.text.empty()) failure.text = "a process of the restart reported an error without saying which";
  return failure;
}

stub::Step read_step(const stub::Slot& slot) {
  return __atomic_load_n(&slot.step, __ATOMIC_RELAXED);
}

}  // namespace cryo
