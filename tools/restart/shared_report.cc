// SPDX-License-Identifier: GPL-2.0-only
#include "restart/shared_report.h"

#include <sched.h>
#include <sys/mman.h>

#include <cstring>
#include <ctime>
#include <new>

#include "base/error.h"

namespace cryo {

std::size_t report_size(std::size_t slots) {
  static_assert(sizeof(stub::Report) % alignof(stub::Slot) == 0);
  return sizeof(stub::Report) + slots * sizeof(stub::Slot);
}

stub::Slot* slots_of(stub::Report* report) {
  return reinterpret_cast<stub::Slot*>(report + 1);
}

SharedReport::SharedReport(std::size_t slots) : slots_(slots), size_(report_size(slots)) {
  void* memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail_errno("cannot map {} bytes", size_);
  report_ = new (memory) stub::Report;  // all zeros; the list of names is large, and not touched in vain
  new (slots_of(report_)) stub::Slot[slots]{};
}

SharedReport::~SharedReport() {
  ::munmap(report_, size_);
}

std::span<stub::Slot> SharedReport::slots() const {
  return {slots_of(report_), slots_};
}

ReportLock::ReportLock(stub::Report& report) : report_(report) {
  // Whoever dies in it takes all others along.
  while (__atomic_exchange_n(&report_.locked, 1, __ATOMIC_ACQUIRE) != 0) ::sched_yield();
}

ReportLock::~ReportLock() {
  __atomic_store_n(&report_.locked, 0, __ATOMIC_RELEASE);
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

void report_failure(stub::Report& report, std::uint32_t process, const char* text, int error) {
  if (!claim_failure(report)) return;
  std::strncpy(report.text, text, sizeof(report.text) - 1);
  report.step = stub::Step::kPrepare;
  report.process = process;
  report.error = error;
  publish_failure(report);
}

}  // namespace cryo
