// SPDX-License-Identifier: GPL-2.0-only
// Whether what a path leads to can be opened, and is what it was.
#pragma once

#include <sys/types.h>

#include "restart/files/file_kinds.h"

namespace cryo {

// "regular file", for messages.
[[nodiscard]] const char* file_type(mode_t mode);
void check_path(FileCheck& at, const File& file, const FileUse& use);
// Whether it may be opened for as much as it was.
void check_access(FileCheck& at, const File& file, const FileUse& use);
// Its process need not be able to open it by its name any more.
[[nodiscard]] bool is_very_file(const FileCheck& at, const File& file);

}  // namespace cryo
