// SPDX-License-Identifier: GPL-2.0-only
// Bytes of a file, all of them or an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cryo {

// Fills all of `to` with what is at `offset`, where `name` had so much when it was opened; or throws Error.
void read_at(int fd, std::uint64_t offset, std::span<std::byte> to, const std::string& name);

}  // namespace cryo
