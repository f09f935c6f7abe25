// SPDX-License-Identifier: GPL-2.0-only
// Which processes of the job use an open file, and for what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "context/model.h"
#include "restart/common/options.h"

namespace cryo {

// What a file of the context is used for.
struct FileUse {
  std::size_t process = 0;             // the first that uses it: index in Context::processes
  std::vector<std::size_t> processes;  // all that use it, or may receive it: whose its name is
  std::size_t holders = 0;             // processes that have it in their tables,
  std::size_t last_holder = 0;         // and the last of them: an index
  std::vector<cryo_fd> fds;            // in all of these
  bool mapped = false;
  bool mapped_shared = false;
  bool mapped_shared_writable = false;  // or may become so by mprotect()
  bool executable = false;              // /proc/PID/exe
  bool passed = false;                  // under way in a message
};
using FileUses = std::map<std::uint32_t, FileUse>;
// By one process, and by the whole job.
[[nodiscard]] FileUses file_uses(const Context& context, std::size_t process);
[[nodiscard]] FileUses file_uses(const Context& context);

// Of what is done by one process only for all that have a file.
[[nodiscard]] bool is_first_with(const Context& context, const Process& process, std::uint32_t file);

// Files under way in messages that no process has open: who does for each what takes a process, by index.
using KeptBy = std::map<std::uint32_t, std::size_t>;

// O_* for opening `file` again: those that open() takes, without what would change the file.
[[nodiscard]] int open_flags(const File& file, const FileUse& use);

// Not open after the restart, because it was to be closed, at the checkpoint or now.
[[nodiscard]] bool left_closed(const File& file, const RestartOptions& options);

}  // namespace cryo
