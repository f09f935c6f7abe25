// SPDX-License-Identifier: GPL-2.0-only
// Files that are opened by their names, and whose contents the context has all the same
// (CRYO_INODE_FALLBACK): which of the two the job gets.
#pragma once

#include "context/chain.h"
#include "context/model.h"
#include "restart/common/options.h"

namespace cryo {

// Where a name leads to nothing, or to something else, all files of the inode become such as have no name
// (CRYO_FILE_CONTENTS). Throws Error when an ancestor of the context cannot be opened.
void settle_fallbacks(Context& context, const Source& source, const AncestorPlace& place,
                      const RestartOptions& options);

}  // namespace cryo
