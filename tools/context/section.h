// SPDX-License-Identifier: GPL-2.0-only
// The outer layer of the format: file header, section headers, checksums, padding.
#pragma once

#include <cryo/format.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "context/file_header.h"
#include "context/model.h"
#include "context/read_options.h"
#include "context/schema.h"
#include "context/source.h"
#include "context/window.h"

namespace cryo {

struct Section {
  cryo_section head{};
  std::uint64_t offset = 0;   // of the section header
  std::uint64_t payload = 0;  // offset of the first byte after the padding
  [[nodiscard]] std::uint64_t end() const { return payload + head.length; }
};

// Walks from section to section.  All offsets handed out are inside the source.
class SectionScanner {
 public:
  // Reads and checks the file header.
  SectionScanner(const Source& source, const ReadOptions& options);

  [[nodiscard]] const cryo_file_header& header() const { return header_; }
  // A later minor version may use what is reserved here, and values that this reader does not know.
  [[nodiscard]] bool newer_minor() const { return header_.format_minor > CRYO_FORMAT_MINOR; }
  [[nodiscard]] const Source& source() const { return source_; }
  [[nodiscard]] std::uint64_t position() const { return position_; }
  // Number of sections that next() has returned.
  [[nodiscard]] std::uint64_t count() const { return count_; }

  // The section at position(), header and padding checked, but for the padding of page data, which is left to
  // who reads those: with many gigabytes it is most of what would be looked at. position() is behind it then.
  [[nodiscard]] Section next();
  // Its payload, checked; for the small ones (everything but page data).
  [[nodiscard]] Bytes payload(const Section& section) const;
  // Compares the checksum only, in constant memory.
  void check_payload(const Section& section) const;

  // Throws EBADMSG: the section holds what no writer writes.
  template <typename... Args>
  [[noreturn]] void damaged(const Section& section, fmt::format_string<Args...> format,
                            Args&&... args) const {
    fail(EBADMSG, "{}: byte {}: {}: {}", source_.name(), section.offset, section_name(section.head.type),
         fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  void check_section(const Section& section) const;
  void check_padding(const Section& section) const;

  const Source& source_;
  mutable Window window_;  // of what is small: everything but page data
  ReadOptions options_;
  cryo_file_header header_{};
  std::uint64_t position_ = 0;
  std::uint64_t count_ = 0;
};

// Of a part of a source: are all of its bytes zero?
[[nodiscard]] bool has_zeros(const Source& source, std::uint64_t offset, std::uint64_t length);

// Of a part of a source, see checksum.h.
[[nodiscard]] std::uint32_t checksum_of(const Source& source, std::uint64_t offset, std::uint64_t length,
                                        std::uint16_t section_flags);

}  // namespace cryo
