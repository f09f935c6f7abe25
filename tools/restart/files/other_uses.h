// SPDX-License-Identifier: GPL-2.0-only
// Files that the job writes to and that are in use outside it: open for writing in another process, such as
// the script that owns the log, or read by cr_restart as the context. They must be neither truncated nor
// overwritten.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "context/chain.h"
#include "context/model.h"
#include "restart/engine/options.h"

namespace cryo {

struct FileRestoreInput;
struct FileUse;

struct OtherUse {
  bool context = false;  // the context, or one that it needs; else somebody writes:
  pid_t pid = 0;         // 0: who cannot be seen
  std::string command;
  bool appends = false;
  // His open file, where the job can go on in it: at its end, and of the user of the job's processes.  Then each of them goes
  // on behind what the other one has written, as before the checkpoint.
  std::shared_ptr<const UniqueFd> file;
};
using OtherUses = std::map<std::uint32_t, OtherUse>;  // by inode of the context

// The context and those that it needs.
using FileIdentities = std::set<std::pair<dev_t, ino_t>>;
[[nodiscard]] FileIdentities context_files(const Context& context, const Chain& chain);

// While no process of the job exists.
[[nodiscard]] OtherUses find_other_uses(const Context& context, const Chain& chain, const RestartOptions& options);

// What others make of it, where it is opened by its path; nullptr: nothing.
[[nodiscard]] const OtherUse* other_use(const FileRestoreInput& input, const File& file);

// "pid 4711 (sh), which is not in the context, has it open for writing"
[[nodiscard]] std::string describe(const OtherUse& use);

// Was it at the end of what had been written?  Then what it writes comes after what has been written meanwhile.
[[nodiscard]] bool was_at_end(const File& file, const Inode& inode);
// Can the job's open file be the other one's?
[[nodiscard]] bool can_share(const OtherUse& other, const File& file, const Inode& inode, const FileUse& use);

}  // namespace cryo
