// SPDX-License-Identifier: GPL-2.0-only
#include "context/checksum.h"

#include <cryo/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/crc32c.h"

namespace cryo {

struct Checksum::Xxh64 {
  XXH64_state_t state;
};

Checksum::Checksum(std::uint16_t section_flags) {
  if (!(section_flags & CRYO_SECF_XXH64)) return;
  xxh64_ = std::make_unique<Xxh64>();
  XXH64_reset(&xxh64_->state, 0);
}

Checksum::~Checksum() = default;

void Checksum::add(std::span<const std::byte> data) {
  if (xxh64_)
    XXH64_update(&xxh64_->state, data.data(), data.size());
  else
    crc_ = crc32c(data, crc_);
}

std::uint32_t Checksum::value() const {
  return xxh64_ ? static_cast<std::uint32_t>(XXH64_digest(&xxh64_->state)) : crc_;
}

std::uint32_t checksum(std::span<const std::byte> data, std::uint16_t section_flags) {
  Checksum sum(section_flags);
  sum.add(data);
  return sum.value();
}

}  // namespace cryo
