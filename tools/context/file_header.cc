// SPDX-License-Identifier: GPL-2.0-only
#include "context/file_header.h"

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/crc32c.h"
#include "base/error.h"

namespace cryo {
namespace {

constexpr std::uint32_t kMaxHeader = 4096;
constexpr std::uint32_t kMinPage = 4096;
constexpr std::uint32_t kMaxPage = 1 << 20;

}  // namespace

std::size_t file_header_length(std::span<const std::byte> start, const std::string& name) {
  cryo_file_header header;
  std::memcpy(&header, start.data(), sizeof(header));
  if (header.header_len < sizeof(header) || header.header_len > kMaxHeader)
    fail(EBADMSG, "{}: byte 0: file header: damaged (its length is {})", name, header.header_len);
  return header.header_len;
}

cryo_file_header check_file_header(std::span<const std::byte> whole, const std::string& name,
                                   bool check_crc) {
  cryo_file_header header;
  std::uint32_t crc;
  std::memcpy(&header, whole.data(), sizeof(header));
  // The checksum is the last word, so that fields added before it are covered as well.
  std::memcpy(&crc, &whole[whole.size() - sizeof(crc)], sizeof(crc));
  if (check_crc && crc32c(whole.first(whole.size() - sizeof(crc))) != crc)
    fail(EBADMSG, "{}: byte 0: file header: damaged (checksum)", name);
  if (header.format_major != CRYO_FORMAT_MAJOR)
    fail(EOPNOTSUPP, "{} has format {}.{}; this Cryo reads format {}", name, header.format_major,
         header.format_minor, CRYO_FORMAT_MAJOR);
  if (header.incompat & ~CRYO_INCOMPAT_KNOWN)
    fail(EOPNOTSUPP, "{} needs a newer Cryo: unknown features {:#x} (incompat)", name,
         header.incompat & ~CRYO_INCOMPAT_KNOWN);
  if (header.page_size < kMinPage || header.page_size > kMaxPage || !std::has_single_bit(header.page_size))
    fail(EBADMSG, "{}: byte 0: file header: page size {} is impossible", name, header.page_size);
  if (header.format_minor <= CRYO_FORMAT_MINOR &&
      (header.reserved != 0 || header.header_len != sizeof(header)))
    fail(EBADMSG, "{}: byte 0: file header: reserved field is not zero, or wrong length", name);
  return header;
}

}  // namespace cryo
