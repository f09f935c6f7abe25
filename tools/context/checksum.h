// SPDX-License-Identifier: GPL-2.0-only
// The checksum of a section's payload, of the kind that the section's flags (CRYO_SECF_*) say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cryo {

class Checksum {
 public:
  explicit Checksum(std::uint16_t section_flags);
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;

  void add(std::span<const std::byte> data);
  [[nodiscard]] std::uint32_t value() const;

 private:
  struct Xxh64;

  std::unique_ptr<Xxh64> xxh64_;  // null: CRC32C
  std::uint32_t crc_ = 0;
};

[[nodiscard]] std::uint32_t checksum(std::span<const std::byte> data, std::uint16_t section_flags);

}  // namespace cryo
