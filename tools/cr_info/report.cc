// SPDX-License-Identifier: GPL-2.0-only
#include "cr_info/report.h"

#include <fmt/format.h>

#include <map>

#include "base/bytes.h"
#include "context/describe.h"
#include "context/reader.h"
#include "context/schema.h"
#include "cr_info/text.h"

namespace cryo {
namespace {

void print_head(const Context& context, const Source& source, const std::vector<Link>& links) {
  const cryo_file_header& header = context.header;
  const cryo_system& system = context.system;
  fmt::print("{}: a context of Cryo\n", printable(context.name));
  fmt::print("  format     {}.{}, {}, pages of {}{}\n", header.format_major, header.format_minor,
             arch_name(header.arch), bytes_text(header.page_size),
             source.compressed() ? ", compressed with zstd" : "");
  fmt::print("  made       {} on {}, {} {}, {}\n", time_text(system.realtime_ns),
             printable(field_text(system.nodename)), printable(field_text(system.sysname)),
             printable(field_text(system.release)), printable(field_text(system.machine)));
  fmt::print("  by         Cryo {}\n", printable(field_text(system.writer)));
  fmt::print("  size       {}, {} of it memory\n", bytes_text(source.size()),
             bytes_text(context.end.page_bytes));
  if (!context.ancestors.empty())
    fmt::print("  needs      other contexts ({}), which have {} of its memory: see --chain\n",
               context.ancestors.size(), bytes_text(elsewhere_bytes(context)));
  for (const Link& link : links)
    if (link.state != "good")
      fmt::print("  NOTE       cannot be restarted: {} is {}\n", printable(link.name), link.state);
  const bool alone = context.ancestors.empty();
  fmt::print("  checksums  {}\n", !context.pages_verified
                                      ? "good; those of the memory contents were not verified"
                                  : alone ? "all verified: good"
                                          : "those of its own verified: good (--chain verifies all)");
  for (const std::string& obstacle : context.obstacles)
    fmt::print("  NOTE       this version cannot restart it: {}\n", printable(obstacle));
}

void print_cpu(const Context& context) {
  const ArchDescription* description = arch_description(context.header.arch);
  if (context.cpu.empty()) return;
  if (description == nullptr) {
    fmt::print("  processor  {} of description\n", bytes_text(context.cpu.size()));
    return;
  }
  for (const auto& [name, value] : description->cpu(context.cpu))
    fmt::print("  processor  {}: {}\n", name, printable(value));
}

void print_sections(const Context& context) {
  struct Total {
    std::uint64_t count = 0;
  };
  std::map<std::uint32_t, Total> totals;
  for (const cryo_index_entry& entry : context.index) ++totals[entry.type].count;
  fmt::print("\nsections\n");
  for (const auto& [type, total] : totals) fmt::print("  {:<12} {:>8}\n", section_name(type), total.count);
}

}  // namespace

void print_report(const Context& context, const Source& source, const std::vector<Link>& links, int verbose) {
  print_head(context, source, links);
  if (verbose > 0) print_cpu(context);
  for (const Process& process : context.processes) print_process(context, process, verbose);
  print_ipc(context);
  print_namespaces(context);
  print_cgroups(context);
  print_needs(context);
  if (verbose > 1) print_sections(context);
  if (verbose > 2) print_every_section(source);
}

}  // namespace cryo
