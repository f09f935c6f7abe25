// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cryo/format.h>

#include <cstddef>
#include <span>
#include <string>

namespace cryo {

// Of the file header, of which `start` has as much as this version knows. Throws Error.
[[nodiscard]] std::size_t file_header_length(std::span<const std::byte> start, const std::string& name);

// All of it, but for the magic number. Throws Error.
cryo_file_header check_file_header(std::span<const std::byte> whole, const std::string& name, bool check_crc);

}  // namespace cryo
