// SPDX-License-Identifier: GPL-2.0-only
// POSIX shared memory and semaphores: files below /dev/shm whose contents are memory of the job.
#pragma once

#include <string>

#include "restart/files/files.h"

namespace cryo {

// Why the object cannot be had at `path`; empty when it can: there is none, or it is the one of the
// checkpoint, left behind, and nobody else has it open for writing.
[[nodiscard]] std::string posix_shm_problem(const Inode& inode, const std::string& path);

// The object, open for reading and writing, empty; made where it is gone.
[[nodiscard]] UniqueFd make_named_memory(const FileRestoreInput& input, const Inode& inode,
                                         const std::string& path);
// The same with its contents at the checkpoint.
[[nodiscard]] UniqueFd make_posix_shm(const FileRestoreInput& input, const Inode& inode, const File& file);

}  // namespace cryo
