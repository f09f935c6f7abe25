// SPDX-License-Identifier: GPL-2.0-only
// Root directories other than that of the mount namespace (chroot(2)).
//
// A process takes its own on when all that it opens by a path is open: paths in a context are those of the
// mount namespace, and nothing in the root directory is needed for the restart.
#pragma once

#include <cstdint>
#include <string>

#include "base/unique_fd.h"
#include "context/model.h"
#include "restart/common/findings.h"
#include "restart/common/options.h"

namespace cryo {

// With the names of who had it.  One that has its name today is not taken for it, unless the user says so:
// who is in it trusts what is there.  Throws Error.
[[nodiscard]] UniqueFd open_root(const Root& root, const RestartOptions& options, std::uint64_t created_ns,
                                 bool made);
// May lie on a mount that the restart makes: nobody knows then what is going to be there.
[[nodiscard]] bool is_on_made_mount(const Process& process, const Root& root);

void check_roots(const CheckInput& input, Findings& findings);

// The root directory of a process of the context in which `path` is called `inside`; empty: none is.
[[nodiscard]] std::string root_of_name(const Context& context, const Relocations& relocations,
                                       const std::string& path, const std::string& inside);
// For a process that is there for one call: makes `root` its root directory.  Throws Error.
void enter_root(const std::string& root);
// May the caller, for all that can be told?
[[nodiscard]] bool may_enter_root();

}  // namespace cryo
