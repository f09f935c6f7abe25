// SPDX-License-Identifier: GPL-2.0-only
// Files in /proc, of the requester's pid namespace, for those who may be in a mount namespace by now where
// /proc is another one.
#pragma once

#include <fcntl.h>

#include <string>

#include "base/unique_fd.h"

namespace cryo {

// From now on the directory open at `fd` is taken for /proc; the caller keeps it open.
void keep_proc(int fd);
// That one, or -1.
[[nodiscard]] int kept_proc();

// `name` as in "self/maps".  Without a file, errno says why.
[[nodiscard]] UniqueFd open_proc(const std::string& name, int flags = O_RDONLY);
// For calls that take a directory and a name: what is open as `fd`, whatever that is called.
struct NameOfDescriptor {
  int directory;
  std::string name;
};
[[nodiscard]] NameOfDescriptor name_of_descriptor(int fd);
// All of it; empty when it cannot be read.
[[nodiscard]] std::string read_proc(const std::string& name);

}  // namespace cryo
