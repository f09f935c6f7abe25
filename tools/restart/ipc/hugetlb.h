// SPDX-License-Identifier: GPL-2.0-only
// Files of hugetlbfs: with a name, without one any more, or memfds.
#pragma once

#include <string>

#include "base/unique_fd.h"
#include "context/model.h"
#include "restart/files/files.h"

namespace cryo {

// A file of hugetlbfs with its contents: a memfd, one with its name, or one without a name any more.
[[nodiscard]] UniqueFd make_hugetlb(const FileRestoreInput& input, const Inode& inode, const File& file);
// Why one with a name cannot be had at `path`; empty when it can.
[[nodiscard]] std::string hugetlb_problem(const Inode& inode, const std::string& path);

}  // namespace cryo
