// SPDX-License-Identifier: GPL-2.0-only
// CRC32C (Castagnoli), as the context format uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cryo {

// The CRC of `data` continued from `crc`, the CRC of the bytes before it (0 to start):
// crc32c("123456789") == 0xe3069283.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t crc = 0);

}  // namespace cryo
