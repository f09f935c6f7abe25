// SPDX-License-Identifier: GPL-2.0-only
#include "restart/engine/oom.h"

#include <sstream>
#include <string>

#include "restart/common/proc_files.h"

namespace cryo {

std::uint64_t oom_kills() {
  std::istringstream lines(read_proc("vmstat"));
  std::string name;
  for (std::uint64_t value = 0; lines >> name >> value;)
    if (name == "oom_kill") return value;
  return 0;
}

}  // namespace cryo
