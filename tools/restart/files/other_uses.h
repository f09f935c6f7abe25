// SPDX-License-Identifier: GPL-2.0-only
// Files that the job writes to and that are in use outside it: open for writing in another process, such as
// the script that owns the log, or read by cr_restart as the context. They must be neither truncated nor
// overwritten.
#pragma once

#include <string>

#include "context/chain.h"
#include "context/model.h"
#include "restart/common/findings.h"
#include "restart/common/options.h"

namespace cryo {

struct FileUse;

// The context and those that it needs.
[[nodiscard]] FileIdentities context_files(const Context& context, const Chain& chain);

// While no process of the job exists.
[[nodiscard]] OtherUses find_other_uses(const Context& context, const Chain& chain,
                                        const RestartOptions& options);

// What others make of it, where it is opened by its path; nullptr: nothing.
[[nodiscard]] const OtherUse* other_use(const OtherUses& uses, const File& file);

// "pid 4711 (sh), which is not in the context, has it open for writing"
[[nodiscard]] std::string describe(const OtherUse& use);

// Was it at the end of what had been written?  Then what it writes comes after what has been written
// meanwhile.
[[nodiscard]] bool was_at_end(const File& file, const Inode& inode);
// Can the job's open file be the other one's?
[[nodiscard]] bool can_share(const OtherUse& other, const File& file, const Inode& inode, const FileUse& use);

}  // namespace cryo
