// SPDX-License-Identifier: GPL-2.0-only
// Memory that cr_restart shares with all processes of the job, from before the first fork on.
#pragma once

#include <chrono>
#include <span>

#include "restart/stub.h"

namespace cryo {

class SharedReport {
 public:
  explicit SharedReport(std::size_t slots);
  ~SharedReport();
  SharedReport(const SharedReport&) = delete;
  SharedReport& operator=(const SharedReport&) = delete;

  [[nodiscard]] stub::Report& operator*() const { return *report_; }
  [[nodiscard]] stub::Report* get() const { return report_; }
  [[nodiscard]] stub::Report* operator->() const { return report_; }
  [[nodiscard]] std::span<stub::Slot> slots() const;
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  stub::Report* report_ = nullptr;
  std::size_t slots_;
  std::size_t size_;
};

// One process at a time does what others must not do at the same time.
class ReportLock {
 public:
  explicit ReportLock(stub::Report& report);
  ~ReportLock();
  ReportLock(const ReportLock&) = delete;
  ReportLock& operator=(const ReportLock&) = delete;

 private:
  stub::Report& report_;
};

// Bytes of a report with that many slots.
[[nodiscard]] std::size_t report_size(std::size_t slots);
// Of a report wherever it is mapped.
[[nodiscard]] stub::Slot* slots_of(stub::Report* report);

// The first to fail fills in the report: true for that one.
[[nodiscard]] bool claim_failure(stub::Report& report);
void publish_failure(stub::Report& report);
// Until what has been claimed is published; false: it has not been within `limit`.
[[nodiscard]] bool await_failure(const stub::Report& report, std::chrono::milliseconds limit);
// A message in the caller's own words, unless somebody has failed before.
void report_failure(stub::Report& report, std::uint32_t process, const char* text, int error);

}  // namespace cryo
