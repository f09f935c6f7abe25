// SPDX-License-Identifier: GPL-2.0-only
#include "base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

namespace cryo {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // 0x1edc6f41 reflected
constexpr std::size_t kSlices = 8;

using Tables = std::array<std::array<std::uint32_t, 256>, kSlices>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0);
    tables[0][i] = crc;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice)
    for (std::size_t i = 0; i < 256; ++i) {
      const std::uint32_t previous = tables[slice - 1][i];
      tables[slice][i] = (previous >> 8) ^ tables[0][previous & 0xff];
    }
  return tables;
}

constexpr Tables kTables = make_tables();
static_assert(std::endian::native == std::endian::little,
              "contexts are little-endian; so are all three architectures");

}  // namespace

// Eight table look-ups per eight bytes ("slicing by 8"), portable to all architectures.
std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t crc) {
  crc = ~crc;
  while (data.size() >= kSlices) {
    std::uint64_t word;
    std::memcpy(&word, data.data(), sizeof(word));
    word ^= crc;
    crc = 0;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kSlices; ++i) crc ^= kTables[kSlices - 1 - i][(word >> (8 * i)) & 0xff];
    data = data.subspan(kSlices);
  }
  for (std::byte byte : data) crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<std::uint32_t>(byte)) & 0xff];
  return ~crc;
}

}  // namespace cryo
