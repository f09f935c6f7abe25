// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>

namespace cryo {

// Is there a Unix socket in this network namespace that was bound to `name`, and has the inode `ino` of a file system of this type there?
// Asked of the kernel: nobody who listens is called.
[[nodiscard]] bool is_bound(const std::string& name, std::uint32_t fs_magic, std::uint64_t ino);

}  // namespace cryo
