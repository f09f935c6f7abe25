// SPDX-License-Identifier: GPL-2.0-only
// Writes a context, section by section, in one pass: for tools that make one context of another.
#pragma once

#include <cryo/format.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "context/hash.h"
#include "context/model.h"

namespace cryo {

class ContextWriter {
 public:
  using Sink = std::function<void(std::span<const std::byte>)>;

  // `header`: the file header, as it was read.
  ContextWriter(Sink sink, const Bytes& header, std::uint32_t page_size);

  // A section of another context, as it is.
  void copy(const cryo_section& head, std::span<const std::byte> payload);
  // One with a structure and a tail.
  template <typename T>
  void put(std::uint16_t type, std::uint32_t object, const T& fixed, std::span<const std::byte> tail) {
    put_section(type, object, std::as_bytes(std::span(&fixed, 1)), tail);
  }
  // PAGES and PAGE_DATA; returns where the first page is.
  std::uint64_t put_pages(std::uint32_t kind, std::uint32_t object, std::span<const cryo_page_run> runs,
                          std::span<const std::byte> data);
  void put_copies(std::uint32_t mm, std::span<const cryo_page_copy> copies);
  // INDEX and END.
  void finish();

  // Of what has been written: that of the context, once finished. See format_memory.h.
  [[nodiscard]] Hash identity() const { return identity_.value(); }
  [[nodiscard]] std::uint64_t written() const { return position_; }
  [[nodiscard]] std::uint64_t page_bytes() const { return page_bytes_; }

 private:
  void put_section(std::uint16_t type, std::uint32_t object, std::span<const std::byte> fixed,
                   std::span<const std::byte> tail);
  void put_header(cryo_section& head);
  void put_bytes(std::span<const std::byte> bytes);

  Sink sink_;
  std::uint32_t page_size_;
  std::uint64_t position_ = 0;
  Hasher identity_;
  std::uint64_t page_bytes_ = 0;
  std::vector<cryo_index_entry> index_;
};

// Adds a page to the runs that end with it.
void add_to_runs(std::vector<cryo_page_run>& runs, std::uint64_t address, std::uint64_t page_size);
void add_to_copies(std::vector<cryo_page_copy>& copies, std::uint64_t address, std::uint64_t offset,
                   std::uint64_t page_size);

}  // namespace cryo
