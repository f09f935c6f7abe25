// SPDX-License-Identifier: GPL-2.0-only
#include "context/writer.h"

#include <cstddef>
#include <utility>

#include "base/crc32c.h"
#include "context/checksum.h"

namespace cryo {
namespace {

template <typename T>
std::span<const std::byte> bytes_of(std::span<const T> values) {
  return std::as_bytes(values);
}

}  // namespace

ContextWriter::ContextWriter(Sink sink, const Bytes& header, std::uint32_t page_size)
    : sink_(std::move(sink)), page_size_(page_size) {
  identity_.add(header);
  put_bytes(header);
}

void ContextWriter::put_bytes(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  sink_(bytes);
  position_ += bytes.size();
}

// END has no entry in the index.
void ContextWriter::put_header(cryo_section& head) {
  head.magic = CRYO_SECTION_MAGIC;
  head.header_crc = crc32c(std::as_bytes(std::span(&head, 1)).first(offsetof(cryo_section, header_crc)));
  if (head.type != CRYO_SEC_END) index_.push_back({position_, head.type, head.object});
  identity_.add(std::as_bytes(std::span(&head, 1)));
  put_bytes(std::as_bytes(std::span(&head, 1)));
  put_bytes(Bytes(head.pad));
}

void ContextWriter::copy(const cryo_section& head, std::span<const std::byte> payload) {
  cryo_section copied = head;
  copied.pad = 0;
  put_header(copied);
  put_bytes(payload);
}

void ContextWriter::put_section(std::uint16_t type, std::uint32_t object, std::span<const std::byte> fixed,
                                std::span<const std::byte> tail) {
  cryo_section head{};
  head.type = type;
  head.flags = CRYO_SECF_REQUIRED;
  head.length = fixed.size() + tail.size();
  head.fixed_len = static_cast<std::uint32_t>(fixed.size());
  head.object = object;
  head.crc = crc32c(tail, crc32c(fixed));
  put_header(head);
  put_bytes(fixed);
  put_bytes(tail);
}

std::uint64_t ContextWriter::put_pages(std::uint32_t kind, std::uint32_t object,
                                       std::span<const cryo_page_run> runs, std::span<const std::byte> data) {
  const cryo_pages pages{kind, static_cast<std::uint32_t>(runs.size()), sizeof(cryo_page_run),
                         static_cast<std::uint32_t>(data.size() / page_size_)};
  put(CRYO_SEC_PAGES, object, pages, bytes_of(runs));
  cryo_section head{};
  head.type = CRYO_SEC_PAGE_DATA;
  head.flags = CRYO_SECF_REQUIRED | CRYO_SECF_XXH64;
  head.length = data.size();
  head.pad = static_cast<std::uint32_t>(-(position_ + sizeof(head)) & (page_size_ - 1));
  head.object = object;
  head.crc = checksum(data, head.flags);
  put_header(head);
  const std::uint64_t at = position_;
  put_bytes(data);
  page_bytes_ += data.size();
  return at;
}

void ContextWriter::put_copies(std::uint32_t mm, std::span<const cryo_page_copy> copies) {
  const cryo_array head{static_cast<std::uint32_t>(copies.size()), sizeof(cryo_page_copy)};
  put(CRYO_SEC_PAGE_COPIES, mm, head, bytes_of(copies));
}

void ContextWriter::finish() {
  cryo_end end{};
  end.index_offset = position_;
  index_.push_back({position_, CRYO_SEC_INDEX, 0});
  const std::vector<cryo_index_entry> entries = std::exchange(index_, {});
  const cryo_array head{static_cast<std::uint32_t>(entries.size()), sizeof(cryo_index_entry)};
  put(CRYO_SEC_INDEX, 0, head, bytes_of(std::span(entries)));
  end.sections = entries.size() + 1;
  end.page_bytes = page_bytes_;
  end.total_len = position_ + sizeof(cryo_section) + sizeof(end);
  put(CRYO_SEC_END, 0, end, {});
}

void add_to_runs(std::vector<cryo_page_run>& runs, std::uint64_t address, std::uint64_t page_size) {
  if (!runs.empty() && runs.back().start + runs.back().nr_pages * page_size == address)
    ++runs.back().nr_pages;
  else
    runs.push_back({address, 1});
}

void add_to_copies(std::vector<cryo_page_copy>& copies, std::uint64_t address, std::uint64_t offset,
                   std::uint64_t page_size) {
  if (!copies.empty()) {
    cryo_page_copy& last = copies.back();
    const std::uint64_t length = last.nr_pages * page_size;
    if (last.start + length == address && last.offset + length == offset) {
      ++last.nr_pages;
      return;
    }
  }
  copies.push_back({address, 1, offset});
}

}  // namespace cryo
