// SPDX-License-Identifier: GPL-2.0-only
// The part of the report about one address space.
#include <fmt/format.h>

#include <array>
#include <map>
#include <string>

#include "base/bytes.h"
#include "cr_info/report.h"
#include "cr_info/text.h"

namespace cryo {
namespace {

struct Summary {
  const char* what;
  std::size_t areas = 0;
  std::uint64_t mapped = 0;
  std::uint64_t saved = 0;
};

std::size_t class_of(const cryo_vma& vma) {
  const bool shared = (vma.flags & CRYO_VMA_SHARED) != 0;
  if (vma.kind == CRYO_VMA_ANON) return 0;
  if (vma.kind == CRYO_VMA_FILE) return shared ? 2 : 1;
  return vma.kind == CRYO_VMA_SHMEM ? 3 : 4;
}

void print_summary(const Mm& mm, const std::vector<std::uint64_t>& saved) {
  std::array<Summary, 5> rows = {Summary{"private, anonymous"},
                                 {"private, of files"},
                                 {"shared, of files"},
                                 {"shared, anonymous"},
                                 {"of the kernel"}};
  for (std::size_t i = 0; i < mm.vmas.size(); ++i) {
    Summary& row = rows[class_of(mm.vmas[i])];
    ++row.areas;
    row.mapped += mm.vmas[i].end - mm.vmas[i].start;
    row.saved += saved[i];
  }
  for (const Summary& row : rows)
    if (row.areas != 0)
      fmt::print("    {:<20} {:>5} areas {:>11}, {:>11} in the context\n", row.what, row.areas,
                 bytes_text(row.mapped), bytes_text(row.saved));
}

std::string area_name(const Context& context, const Mm& mm, const cryo_vma& vma) {
  if (vma.kind == CRYO_VMA_ANON) {
    if (vma.start < mm.head.brk && vma.end > mm.head.start_brk) return "  [heap]";
    if (vma.start <= mm.head.start_stack && mm.head.start_stack < vma.end) return "  [stack]";
  }
  if (const std::string_view name = vma_name(mm, vma); !name.empty())
    return fmt::format("  [{}:{}]", vma.kind == CRYO_VMA_ANON ? "anon" : "anon_shmem", name);
  if (vma.file != 0) return "  " + printable(context.file(vma.file).path);
  return vma.kind == CRYO_VMA_ANON ? "" : fmt::format("  [{}]", vma_kind_name(vma.kind));
}

void print_areas(const Context& context, const Mm& mm, const std::vector<std::uint64_t>& saved) {
  constexpr std::uint64_t kUsual = CRYO_VMA_READ | CRYO_VMA_WRITE | CRYO_VMA_EXEC | CRYO_VMA_SHARED |
                                   CRYO_VMA_MAYREAD | CRYO_VMA_MAYWRITE | CRYO_VMA_MAYEXEC;
  for (std::size_t i = 0; i < mm.vmas.size(); ++i) {
    const cryo_vma& vma = mm.vmas[i];
    fmt::print("    {:012x}-{:012x} {} {:>10} saved {:>10}{}", vma.start, vma.end, permissions(vma.flags),
               bytes_text(vma.end - vma.start), bytes_text(saved[i]), area_name(context, mm, vma));
    if (vma.file != 0 && vma.offset != 0) fmt::print(" +{:#x}", vma.offset);
    if (vma.pkey != 0) fmt::print(" pkey {}", vma.pkey);
    if (const std::uint64_t huge = huge_size_of(vma); huge != 0) fmt::print(" pages of {}", bytes_text(huge));
    if (vma.flags & ~kUsual) fmt::print(" ({})", join(vma_flag_names(vma.flags & ~kUsual)));
    fmt::print("\n");
  }
}

void print_excluded(const Context& context, const Mm& mm, int verbose) {
  if (mm.excluded.empty()) return;
  std::uint64_t size = 0;
  std::uint64_t pages = 0;
  for (const cryo_excluded& range : mm.excluded) {
    size += range.end - range.start;
    pages += range.nr_pages;
  }
  fmt::print("    left out by the process: {} in {} ranges, {} of it in use\n", bytes_text(size),
             mm.excluded.size(), bytes_text(pages * context.header.page_size));
  if (verbose == 0) return;
  for (const cryo_excluded& range : mm.excluded)
    fmt::print("    {:012x}-{:012x} left out, {} in use\n", range.start, range.end,
               bytes_text(range.nr_pages * context.header.page_size));
}

void print_used(const Context& context, const Mm& mm) {
  if (mm.used.empty()) return;
  std::uint64_t pages = 0;
  for (const cryo_page_run& run : mm.used) pages += run.nr_pages;
  fmt::print("    used since the checkpoint before: {} in {} ranges\n",
             bytes_text(pages * context.header.page_size), mm.used.size());
}

void print_guards(const Context& context, const Mm& mm, int verbose) {
  if (mm.guards.empty()) return;
  const std::uint64_t page = context.header.page_size;
  std::uint64_t pages = 0;
  for (const cryo_page_run& run : mm.guards) pages += run.nr_pages;
  fmt::print("    guard pages: {} in {} ranges\n", bytes_text(pages * page), mm.guards.size());
  if (verbose == 0) return;
  for (const cryo_page_run& run : mm.guards)
    fmt::print("    {:012x}-{:012x} guard pages\n", run.start, run.start + run.nr_pages * page);
}

void print_aio(const Mm& mm) {
  for (const AioContext& aio : mm.aio)
    fmt::print("    asynchronous I/O context {:#x}: {} requests, {} events wait\n", aio.head.start,
               aio.head.max_reqs, aio.events.size() / CRYO_AIO_EVENT_SIZE);
}

void print_hugetlb(const Mm& mm) {
  std::map<std::uint64_t, std::uint64_t> sizes;  // by bytes of a page
  for (const cryo_vma& vma : mm.vmas)
    if (const std::uint64_t huge = huge_size_of(vma); huge != 0) sizes[huge] += vma.end - vma.start;
  for (const auto& [huge, size] : sizes)
    fmt::print("    hugetlb: {} in pages of {}\n", bytes_text(size), bytes_text(huge));
}

void print_tagged(const Context& context, const Mm& mm) {
  const std::uint64_t tagged = tagged_bytes(context, CRYO_PAGES_MM, mm.id);
  if (tagged != 0) fmt::print("    with tags in the context: {}\n", bytes_text(tagged));
}

}  // namespace

void print_memory(const Context& context, const Mm& mm, int verbose) {
  const MemoryTotals totals = memory_totals(context, mm);
  const auto saved = saved_bytes(context, mm);
  fmt::print("  memory       {} in {} areas, {} in the context\n", bytes_text(totals.mapped), mm.vmas.size(),
             bytes_text(totals.saved));
  print_summary(mm, saved);
  if (totals.shared != 0) fmt::print("    shared with processes before it: {}\n", bytes_text(totals.shared));
  print_excluded(context, mm, verbose);
  print_used(context, mm);
  print_guards(context, mm, verbose);
  print_aio(mm);
  print_hugetlb(mm);
  print_tagged(context, mm);
  if (verbose == 0) return;
  print_areas(context, mm, saved);
  fmt::print("    heap {:#x}-{:#x}, stack {:#x}, vdso {:#x} (checksum {:08x})\n", mm.head.start_brk,
             mm.head.brk, mm.head.start_stack, mm.head.vdso, mm.head.vdso_crc);
}

}  // namespace cryo
