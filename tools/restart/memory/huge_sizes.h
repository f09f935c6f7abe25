// SPDX-License-Identifier: GPL-2.0-only
// Memory in pages of hugetlbfs.  They come from a pool, of which mmap(2) reserves what it maps: where there
// are not enough of them, that fails, and no page is missing later.
#pragma once

#include <cstdint>
#include <string>

namespace cryo {

// For mmap(2), memfd_create(2) and shmget(2), which take the size at the same place.  0: ordinary pages.
[[nodiscard]] int map_flags(std::uint64_t huge_size);
[[nodiscard]] unsigned memfd_flags(std::uint64_t huge_size);
[[nodiscard]] int shm_flags(std::uint64_t huge_size);

// "2048 KiB"
[[nodiscard]] std::string huge_size_text(std::uint64_t huge_size);

}  // namespace cryo
