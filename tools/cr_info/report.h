// SPDX-License-Identifier: GPL-2.0-only
// A context as text for people, and as JSON for programs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "context/chain.h"
#include "context/model.h"
#include "context/source.h"

namespace cryo {

// To standard output.  verbose: 0, 1 (areas, registers), 2 (register sets, sections) or 3 (each section and
// field). `links`: of what it needs; empty where that is not known.
struct Link;
void print_report(const Context& context, const Source& source, const std::vector<Link>& links, int verbose);

// Parts of it.
void print_process(const Context& context, const Process& process, int verbose);
void print_memory(const Context& context, const Mm& mm, int verbose);
void print_files(const Context& context, const Process& process);
void print_needs(const Context& context);
void print_ipc(const Context& context);
void print_namespaces(const Context& context);
void print_cgroups(const Context& context);
[[nodiscard]] nlohmann::ordered_json cgroups_json(const Context& context);
[[nodiscard]] nlohmann::ordered_json namespaces_json(const Context& context);
[[nodiscard]] nlohmann::ordered_json ipc_json(const Context& context);

// A context that has bytes of another one's pages, as it is now.
struct Link {
  std::string name;
  std::string id;
  std::uint64_t bytes = 0;
  std::uint64_t pages = 0;  // that it has
  std::string state;        // "good", "missing", "altered" or "unreadable"
  std::string problem;
};
// `verify`: compare the pages, too, not only what tells the contexts apart.
[[nodiscard]] Link link_of(const Context& context, std::uint32_t number, const AncestorPlace& place,
                           bool verify);
[[nodiscard]] std::vector<Link> links_of(const Context& context, const AncestorPlace& place, bool verify);
void print_chain(const Context& context, const Source& source, const std::vector<Link>& links);
[[nodiscard]] nlohmann::ordered_json chain_json(const Context& context, const Source& source,
                                                const std::vector<Link>& links);

// One of a directory.
struct ListedContext {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t made_ns = 0;  // 0: not known
  std::vector<std::int32_t> pids;
  std::string state;    // "good", "incomplete", "damaged", "newer" or "unreadable"
  std::string problem;  // why it cannot be restarted
};
[[nodiscard]] std::vector<ListedContext> contexts_in(const std::string& directory, bool verify);
void print_directory(const std::string& directory, const std::vector<ListedContext>& all);
[[nodiscard]] nlohmann::ordered_json directory_json(const std::vector<ListedContext>& all);

// The header of the file with each of its fields.
[[nodiscard]] nlohmann::ordered_json file_header_json(const cryo_file_header& header);
// Each section with each of its fields; there may be many of those of the layout: where pages and other
// sections are.
[[nodiscard]] nlohmann::ordered_json sections_json(const Source& source, bool with_layout);
void print_every_section(const Source& source);

[[nodiscard]] nlohmann::ordered_json report_json(const Context& context, const Source& source);

}  // namespace cryo
