// SPDX-License-Identifier: GPL-2.0-only
#include "context/section.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "context/checksum.h"

namespace cryo {
namespace {

constexpr unsigned int kKnownFlags = CRYO_SECF_REQUIRED | CRYO_SECF_XXH64;
constexpr std::size_t kZeroBlock = 4096;  // of padding, at once
// What a processor's cache holds, and little enough that touching it for the first time costs nothing beside
// the rest.
constexpr std::size_t kBlock = 64 << 10;
// Sections other than page data are read whole.  The longest that writers make are the index of a
// context of some terabytes and the contents of a pipe at the largest capacity that root can give it.
constexpr std::uint64_t kMaxPayload = 1ULL << 30;
constexpr std::uint64_t kMaxSmallPayload = 64ULL << 20;

std::uint64_t max_payload(std::uint16_t type) {
  return type == CRYO_SEC_INDEX || type == CRYO_SEC_PIPE ? kMaxPayload : kMaxSmallPayload;
}

template <typename T>
std::span<const std::byte> bytes_before(const T& object, std::size_t offset) {
  return std::as_bytes(std::span(&object, 1)).first(offset);
}

// Why the first bytes are not CRYO_MAGIC, as far as that can be told.
std::string wrong_magic(std::span<const std::byte> start) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (text.starts_with("\x89"
                       "CRYO"))
    return "was damaged by a transfer in text mode: line ends were changed";
  if (text.substr(1).starts_with("CRYO")) return "was damaged by a transfer that is not 8-bit clean";
  return "is not a context";
}

}  // namespace

SectionScanner::SectionScanner(const Source& source, const ReadOptions& options)
    : source_(source), window_(source), options_(options) {
  if (source.size() == 0) fail(EBADMSG, "{} is empty", source.name());
  std::array<std::byte, CRYO_MAGIC_LEN> magic{};
  const auto known = std::span(magic).first(std::min<std::size_t>(magic.size(), source.size()));
  window_.read(0, known);
  if (std::memcmp(known.data(), CRYO_MAGIC, known.size()) != 0)
    fail(EBADMSG, "{} {}", source.name(), wrong_magic(magic));
  Bytes whole(sizeof(header_));
  window_.read(0, whole);
  whole.resize(file_header_length(whole, source.name()));
  window_.read(0, whole);
  header_ = check_file_header(whole, source.name(), options_.check_crcs);
  position_ = header_.header_len;
}

Section SectionScanner::next() {
  Section section;
  section.offset = position_;
  const std::uint64_t left = source_.size() - position_;
  if (left < sizeof(section.head))
    fail(EBADMSG, "{} is truncated: ends at byte {} without an end mark", source_.name(), source_.size());
  window_.read(position_, std::as_writable_bytes(std::span(&section.head, 1)));
  check_section(section);
  section.payload = position_ + sizeof(section.head) + section.head.pad;
  if (section.head.pad > left - sizeof(section.head) ||
      section.head.length > left - sizeof(section.head) - section.head.pad)
    fail(EBADMSG,
         "{} is truncated: ends at byte {} without an end mark, inside the {} that starts at byte {}",
         source_.name(), source_.size(), section_name(section.head.type), section.offset);
  if (section.head.type != CRYO_SEC_PAGE_DATA) check_padding(section);
  position_ = section.end();
  ++count_;
  return section;
}

void SectionScanner::check_section(const Section& section) const {
  const cryo_section& head = section.head;
  if (head.magic != CRYO_SECTION_MAGIC)
    fail(EBADMSG, "{}: byte {}: damaged: no section starts here", source_.name(), section.offset);
  if (options_.check_crcs &&
      crc32c(bytes_before(head, offsetof(cryo_section, header_crc))) != head.header_crc)
    fail(EBADMSG, "{}: byte {}: damaged section header (checksum)", source_.name(), section.offset);
  if (head.fixed_len > head.length)
    damaged(section, "its structure ({} bytes) is longer than the section ({} bytes)", head.fixed_len,
            head.length);
  if (head.pad >= header_.page_size) damaged(section, "{} bytes of padding are more than a page", head.pad);
  if (!newer_minor() && (head.reserved != 0 || (head.flags & ~kKnownFlags) != 0))
    damaged(section, "reserved fields of its header are not zero");
}

void SectionScanner::check_padding(const Section& section) const {
  if (!has_zeros(source_, section.payload - section.head.pad, section.head.pad))
    damaged(section, "the padding before its payload is not zero");
}

Bytes SectionScanner::payload(const Section& section) const {
  if (section.head.length > max_payload(section.head.type))
    damaged(section, "{} bytes are too long for a section of this type", section.head.length);
  Bytes data(section.head.length);
  window_.read(section.payload, data);
  if (options_.check_crcs && checksum(data, section.head.flags) != section.head.crc)
    damaged(section, "wrong checksum");
  return data;
}

void SectionScanner::check_payload(const Section& section) const {
  if (options_.check_crcs &&
      checksum_of(source_, section.payload, section.head.length, section.head.flags) != section.head.crc)
    damaged(section, "wrong checksum");
}

bool has_zeros(const Source& source, std::uint64_t offset, std::uint64_t length) {
  static constexpr std::array<std::byte, kZeroBlock> kZeros{};
  std::array<std::byte, kZeroBlock> block;
  while (length != 0) {
    const auto part = std::span(block).first(std::min<std::uint64_t>(length, block.size()));
    source.read(offset, part);
    if (std::memcmp(part.data(), kZeros.data(), part.size()) != 0) return false;
    offset += part.size();
    length -= part.size();
  }
  return true;
}

std::uint32_t checksum_of(const Source& source, std::uint64_t offset, std::uint64_t length,
                          std::uint16_t section_flags) {
  const auto block = std::make_unique_for_overwrite<std::byte[]>(kBlock);
  Checksum sum(section_flags);
  while (length != 0) {
    const auto part = std::span(block.get(), std::min<std::uint64_t>(length, kBlock));
    source.read(offset, part);
    sum.add(part);
    offset += part.size();
    length -= part.size();
  }
  return sum.value();
}

}  // namespace cryo
