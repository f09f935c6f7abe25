// SPDX-License-Identifier: GPL-2.0-only
// Memory in pages of hugetlbfs.  They come from a pool, of which mmap(2) reserves what it maps: where there
// are not enough of them, that fails, and no page is missing later.
#pragma once

#include <cstdint>
#include <string>

#include "base/unique_fd.h"
#include "context/model.h"
#include "restart/files/files.h"

namespace cryo {

// For mmap(2), memfd_create(2) and shmget(2), which take the size at the same place.  0: ordinary pages.
[[nodiscard]] int map_flags(std::uint64_t huge_size);
[[nodiscard]] unsigned memfd_flags(std::uint64_t huge_size);
[[nodiscard]] int shm_flags(std::uint64_t huge_size);

// "2048 KiB"
[[nodiscard]] std::string huge_size_text(std::uint64_t huge_size);

// A file of hugetlbfs with its contents: a memfd, one with its name, or one without a name any more.
[[nodiscard]] UniqueFd make_hugetlb(const FileRestoreInput& input, const Inode& inode, const File& file);
// Why one with a name cannot be had at `path`; empty when it can.
[[nodiscard]] std::string hugetlb_problem(const Inode& inode, const std::string& path);

}  // namespace cryo
