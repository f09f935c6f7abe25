// SPDX-License-Identifier: GPL-2.0-only
// Files that cr_restart's caller gives the job in place of what it had open (--redirect): its log is gone, or
// belongs to somebody else.  They are opened with the rights of the process, as those that it had.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "context/model.h"
#include "restart/common/findings.h"
#include "restart/files/file_uses.h"
#include "restart/rights/created_paths.h"

namespace cryo {

// [PID:]FD=FILE; a relative FILE is one of the current directory.  Throws Error.
[[nodiscard]] Redirection parse_redirection(std::string_view text);

// Puts them into the descriptor tables of the context.  Descriptors that share an open file go together, but
// for what would become cr_restart's own: there each number goes by itself.  Throws Error where there is
// nothing that could be redirected.
void redirect(Context& context, const std::vector<Redirection>& redirections);

// In the name of whose file it is.
void check_redirected(const File& file, const FileUse& use, std::int32_t pid, Findings& findings);
[[nodiscard]] UniqueFd open_redirected(CreatedPaths& created, const File& file);

}  // namespace cryo
