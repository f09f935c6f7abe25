// SPDX-License-Identifier: GPL-2.0-only
// Temporary files of cr_checkpoints that were killed: each is as large as a context, and nobody would remove
// it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace cryo {

// Has the name `what`?
[[nodiscard]] bool is_named(int directory, const std::string& name, const struct stat& what);

// Another program's file may have such a name.  One that was killed before its first byte has left an empty
// one.
[[nodiscard]] bool has_context(int fd);

// Says to others that it is being written to, as long as it is open.  False: somebody else does, or has
// removed it, as one who took it for stale.
[[nodiscard]] bool hold_file(int directory, const std::string& name, int fd);

// Where files are shared by machines, locks may be of one machine alone: what has been written to within the
// last hour counts as somebody's there.  `file_system`: as statfs(2) tells it; `now`: seconds.
[[nodiscard]] bool may_be_written_elsewhere(const struct stat& status, std::uint64_t file_system,
                                            std::int64_t now);

// Removes what those have left that were writing `base`, or a context of a process by its default name, in
// the same directory: files of the caller's own, with the contents of a context, that nobody holds.  What
// cannot be removed, or told, stays.
void remove_stale_files(int directory, const std::string& base);

}  // namespace cryo
