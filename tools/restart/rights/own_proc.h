// SPDX-License-Identifier: GPL-2.0-only
// Files of /proc about processes of the job (/proc/PID/...), which cr_restart opens when these are there.
//
// Until all is ready, no process of a restart may be looked at by its user: cr_restart opens them in its own
// right.  What the kernel then gives to whom is decided here, by what the context says of those processes.
#pragma once

#include <string>
#include <vector>

#include "context/model.h"
#include "restart/common/options.h"

namespace cryo {

// By its name; with a /proc of the job's own, numbers are others.
[[nodiscard]] bool lies_in_own_proc(const Context& context, const std::string& path);
// It was one of the /proc that cr_restart has, too.
[[nodiscard]] bool is_own_proc_file(const Context& context, const File& file, const std::string& path);

// With the number that the process has now.
[[nodiscard]] std::string own_proc_path(const Context& context, const RestartOptions& options,
                                        const std::string& path);

// Why its holders (indexes of processes) may not have the file again; "" when they may.
[[nodiscard]] std::string own_proc_problem(const Context& context, const File& file,
                                           const std::vector<std::size_t>& holders, const std::string& path);

}  // namespace cryo
