// SPDX-License-Identifier: GPL-2.0-only
// Locks of files that are held now.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "context/model.h"

namespace cryo {

struct HeldLock {
  bool lease = false;       // fcntl(2), F_SETLEASE
  bool whole_file = false;  // flock(2), leases; else a range, of a process or of an open file
  bool exclusive = false;
  std::int32_t pid = 0;              // who holds it; not positive: cannot be told
  std::string file;                  // "MAJOR:MINOR:INODE", the first two in hexadecimal
  std::uint64_t start = 0, end = 0;  // first and last byte
};

// Of the text of /proc/locks (proc(5)).
[[nodiscard]] std::vector<HeldLock> parse_held_locks(const std::string& text);

// Would `wanted` have to wait for it?
[[nodiscard]] bool in_the_way(const HeldLock& held, const cryo_lock& wanted);

}  // namespace cryo
