// SPDX-License-Identifier: GPL-2.0-only
// A context as text for people, and as JSON for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "context/model.h"
#include "context/source.h"

namespace cryo {

// To standard output.  verbose: 0, 1 (areas, registers) or 2 (register sets, sections).
void print_report(const Context& context, const Source& source, int verbose);

// Parts of it.
void print_process(const Context& context, const Process& process, int verbose);
void print_memory(const Context& context, const Mm& mm, int verbose);
void print_files(const Context& context, const Process& process);
void print_needs(const Context& context);
void print_ipc(const Context& context);
void print_namespaces(const Context& context);
[[nodiscard]] nlohmann::ordered_json namespaces_json(const Context& context);
[[nodiscard]] nlohmann::ordered_json ipc_json(const Context& context);

[[nodiscard]] nlohmann::ordered_json report_json(const Context& context, const Source& source);

}  // namespace cryo
