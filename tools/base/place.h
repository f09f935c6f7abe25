// SPDX-License-Identifier: GPL-2.0-only
// Where a name is: the directory and the last part of a path, which is walked without following symbolic
// links of others.
//
// Whoever made a symbolic link decides where the name leads: of root's it is, or of who acts, or the name is
// not used.  (With protected_symlinks, the kernel asks the same of directories like /tmp.)  What the kernel
// says of an open file has none in it, and where a context is, the caller can say without.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/unique_fd.h"

namespace cryo {

struct NameAt {
  UniqueFd directory;  // O_PATH
  std::string name;    // no symbolic link, unless it was not to be followed; "." for the directory itself
};

// With the rights of the moment.  Nothing, with errno: ELOOP for a link of another user.  The last part need
// not exist.
[[nodiscard]] std::optional<NameAt> find_place(int directory, const std::string& path, bool follow);

// A symbolic link that was not followed.
struct OthersLink {
  std::string path;  // empty: there was none
  std::uint32_t owner = 0;
};

// What has the name, last links followed: O_PATH.  A link of procfs (/dev/fd/63, /dev/stdin) leads to what
// the process has, whatever the name of that is.  None, with errno: ELOOP for a link of another user, with
// that in `refused`.
[[nodiscard]] UniqueFd find_file(const std::string& path, OthersLink& refused);

// As openat(2).
[[nodiscard]] int open_at(int directory, const std::string& path, int flags, mode_t mode = 0);

// The same, where there is to be no symbolic link at all.
[[nodiscard]] int open_without_links(int directory, const std::string& path, int flags, mode_t mode = 0);

// A descriptor of cr_restart's own, by which what has been found before is used: no name, and a link that is
// to be followed.
[[nodiscard]] bool is_own_descriptor(const std::string& path);

// Letters at random in place of the XXXXXX at the end, as mkstemp(3) has them; again at each call.
void replace_template(std::string& path);

// As errno_text(), of what goes wrong on the way.
[[nodiscard]] std::string way_error(int error);

}  // namespace cryo
