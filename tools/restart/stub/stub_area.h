// SPDX-License-Identifier: GPL-2.0-only
// The memory that the stub lives in: a hole that neither the process being rebuilt nor cr_restart's child
// has anything in.
//
//   report | code | data, allocated from the bottom, and thread stacks | place for the vdso in transit
//
// The module unmaps all of it at the end.
#pragma once

#include <cstddef>

#include "restart/stub/address_space.h"
#include "restart/stub/arena.h"
#include "restart/stub/stub.h"

namespace cryo {

class StubArea : public Arena {
 public:
  struct ReportPlace {
    stub::Report* report = nullptr;
    std::size_t size = 0;
    bool stays = false;  // for others in the same memory, too
  };

  // Takes the hole from `space`, moves the (shared) report there, and maps room for `data_size` bytes of
  // data.
  StubArea(AddressSpace& space, const ReportPlace& report, std::size_t data_size, std::size_t transit_size,
           std::size_t page_size);

  [[nodiscard]] void* allocate(std::size_t size, std::size_t alignment) override;

  [[nodiscard]] AddressRange range() const { return range_; }
  [[nodiscard]] std::uint64_t transit() const { return transit_; }  // address
  [[nodiscard]] stub::Report* report() const { return report_; }

  // Leaves the C library and this thread's stack for the stub.  All signals have to be blocked, and there
  // must be no other thread.  Throws Error as long as there is a way back.
  [[noreturn]] void enter(stub::Parameters* parameters);

 private:
  AddressRange range_;
  stub::Report* report_ = nullptr;
  std::uint64_t code_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t data_end_ = 0;
  std::uint64_t transit_ = 0;
};

}  // namespace cryo
