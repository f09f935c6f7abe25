// SPDX-License-Identifier: GPL-2.0-only
// Writes contexts for tests: what the module writes, and what it never would.
#pragma once

#include <cryo/format.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "context/model.h"

namespace cryo::test {

struct RawSection {
  std::uint16_t type = 0;
  std::uint32_t object = 0;
  std::uint16_t flags = 0;
  Bytes fixed;
  Bytes tail;
  std::uint32_t align = 8;  // of the payload
};

// The model is written as it is, so that a test changes a field and sees what the reader says.
class ContextBuilder {
 public:
  // A valid process: one thread, three VMAs with two pages of contents, a regular file, the two ends
  // of a pipe, an epoll, a socket and an eventfd.
  explicit ContextBuilder(std::uint32_t arch = CRYO_ARCH_X86_64, std::uint32_t page_size = 4096);

  // One process with one page and nothing else: the smallest context that can be read.
  [[nodiscard]] static ContextBuilder smallest(std::uint32_t arch = CRYO_ARCH_X86_64);

  Context context;
  std::vector<Bytes> page_data;           // of context.pages, same order
  std::vector<RawSection> early;          // written before pages
  std::vector<RawSection> extra;          // written before INDEX
  std::uint32_t growth = 0;               // bytes (0xee) added to each structure and record
  bool fix_totals = true;                 // numbers of threads, VMAs and pages follow the vectors
  bool index_everything = true;           // else INDEX is empty
  std::function<void(RawSection&)> edit;  // sees each section before it is written
  std::function<void(cryo_end&)> edit_end;

  // Each of the same value.
  void add_tags(std::uint32_t kind, std::uint32_t object, std::vector<cryo_page_run> runs);
  // Pages of mm 1 whose bytes are `skip` bytes behind the start of those of the first chunk.
  void add_page_copy(std::uint64_t start, std::uint64_t nr_pages, std::int64_t skip = 0);
  void add_page_chunk(std::uint32_t kind, std::uint32_t object, std::vector<cryo_page_run> runs);
  [[nodiscard]] Process& process() { return context.processes.front(); }
  [[nodiscard]] Thread& thread() { return process().threads.front(); }
  // Adds a second thread, a copy of the first with another tid.
  Thread& add_thread(std::int32_t tid);
  // A child of the first process, and what the two share; memory 2 is a copy of 1.
  void add_sharer(cryo_shared_memory first, cryo_shared_memory second, std::uint32_t mm);

  [[nodiscard]] Bytes build() const;
};

// Adds terminals, a FIFO and System V objects.
void add_ipc(ContextBuilder& builder);
// Adds a user namespace, and one of each other kind that it owns.
void add_namespaces(ContextBuilder& builder);
// Adds control groups that the job has to itself.
void add_cgroups(ContextBuilder& builder);

// Makes all checksums right again after bytes were changed; the layout must still be walkable.
void reseal(Bytes& bytes);

// Offsets of the section headers.
[[nodiscard]] std::vector<std::uint64_t> section_offsets(std::span<const std::byte> bytes);

template <typename T>
[[nodiscard]] Bytes bytes_of(const T& value) {
  const auto view = std::as_bytes(std::span(&value, 1));
  return {view.begin(), view.end()};
}

}  // namespace cryo::test
