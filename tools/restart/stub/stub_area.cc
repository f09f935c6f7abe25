// SPDX-License-Identifier: GPL-2.0-only
#include "restart/stub/stub_area.h"

#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "stub_arch.h"

namespace cryo {
namespace {

constexpr std::size_t kStackSize = 16384;
constexpr std::uint32_t kMaxRseqLength = 512;

std::size_t round_up(std::size_t size, std::size_t to) {
  return (size + to - 1) / to * to;
}

void* as_pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

// What the kernel knows about this thread's place in the C library, which is about to go away.
void leave_library() {
  if (__rseq_size != 0) {
    char* area = static_cast<char*>(stub::thread_pointer()) + __rseq_offset;
    long result = -1;
    for (std::uint32_t length = 20; result != 0 && length <= kMaxRseqLength; length += 4)
      result = ::syscall(SYS_rseq, area, length, RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
    if (result != 0) fail_errno("cannot unregister the restartable sequences (rseq) of the C library");
  }
  if (::syscall(SYS_set_robust_list, nullptr, 24) != 0) fail_errno("set_robust_list");
}

}  // namespace

StubArea::StubArea(AddressSpace& space, const ReportPlace& report, std::size_t data_size,
                   std::size_t transit_size, std::size_t page_size) {
  const std::size_t code_size = static_cast<std::size_t>(__stop_cryo_stub - __start_cryo_stub);
  const std::size_t report_room = round_up(report.size, page_size);
  const std::size_t code_room = round_up(code_size, page_size);
  const std::size_t data_room = round_up(data_size + kStackSize, page_size);
  range_ = space.take_hole(report_room + code_room + data_room + transit_size);
  code_ = range_.start + report_room;
  next_ = code_ + code_room;
  data_end_ = next_ + data_room;
  transit_ = data_end_;

  void* mapped = ::mmap(as_pointer(code_), code_room + data_room, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (mapped == MAP_FAILED) fail_errno("cannot map the restart stub at {:#x}", code_);
  std::memcpy(mapped, __start_cryo_stub, code_size);
  if (::mprotect(mapped, code_room, PROT_READ | PROT_EXEC) != 0)
    fail_errno("cannot make the restart stub at {:#x} executable", code_);
  stub::sync_code(mapped, code_size);

  // Last, so that whoever catches an error still finds it where it was.
  // An old size of 0 makes a second mapping.
  void* moved = ::mremap(report.report, report.stays ? 0 : report_room, report_room,
                         MREMAP_MAYMOVE | MREMAP_FIXED, as_pointer(range_.start));
  if (moved == MAP_FAILED) fail_errno("cannot move the report page to {:#x}", range_.start);
  report_ = static_cast<stub::Report*>(moved);
}

void* StubArea::allocate(std::size_t size, std::size_t alignment) {
  const std::uint64_t start = round_up(next_, alignment);
  if (start + size > data_end_) fail(ENOMEM, "the restart stub's area is too small");
  next_ = start + size;
  return as_pointer(start);
}

void StubArea::enter(stub::Parameters* parameters) {
  char* stack = static_cast<char*>(allocate(kStackSize - 64, 16));
  const std::uint64_t offset =
      reinterpret_cast<std::uint64_t>(&cryo_stub_main) - reinterpret_cast<std::uint64_t>(__start_cryo_stub);
  const auto entry = reinterpret_cast<stub::Entry>(code_ + offset);
  leave_library();
  stub::enter(stack + kStackSize - 64, entry, parameters);
}

}  // namespace cryo
