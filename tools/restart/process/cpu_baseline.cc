// SPDX-License-Identifier: GPL-2.0-only
#include "restart/process/cpu_baseline.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/cpu_baseline.h"

namespace cryo {
namespace {

constexpr std::uint64_t kMaxEnvironment = 8
                                          << 20;  // more than execve(2) takes: a quarter of the stack's limit

// The saved bytes of one page; those of a page that is not saved are zeros.
void read_page(const Context& context, const Chain& chain, std::uint32_t mm, std::uint64_t address,
               std::span<std::byte> to) {
  for (const PageChunk& chunk : context.pages) {
    if (chunk.kind != CRYO_PAGES_MM || chunk.object != mm) continue;
    const cryo_page_run& last = chunk.runs.back();
    if (address < chunk.runs.front().start || address >= last.start + last.nr_pages * to.size()) continue;
    std::uint64_t offset = chunk.data_offset;
    for (const cryo_page_run& run : chunk.runs) {
      const std::uint64_t bytes = run.nr_pages * to.size();
      if (address >= run.start && address - run.start < bytes)
        return chain.of(chunk).read(offset + (address - run.start), to);
      offset += bytes;
    }
  }
}

std::string environment(const Context& context, const Chain& chain, const Mm& mm) {
  const std::uint64_t page = context.header.page_size, start = mm.head.env_start;
  const std::uint64_t size = mm.head.env_end - start;
  if (mm.head.env_end <= start || size > kMaxEnvironment) return {};
  const std::uint64_t first = start & ~(page - 1);
  Bytes bytes((start - first + size + page - 1) / page * page);
  for (std::uint64_t at = 0; at < bytes.size(); at += page)
    read_page(context, chain, mm.id, first + at, std::span(bytes).subspan(at, page));
  return {reinterpret_cast<const char*>(bytes.data()) + (start - first), size};
}

std::optional<std::string> baseline_of(std::string_view environment) {
  constexpr std::string_view kName = kCpuBaselineVariable;
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry.starts_with(kName) && entry.substr(kName.size()).starts_with('='))
      return std::string(entry.substr(kName.size() + 1));
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
  }
  return std::nullopt;
}

}  // namespace

CpuBaselines cpu_baselines(const Context& context, const Chain& chain) {
  CpuBaselines all;
  for (const auto& [id, mm] : context.mms) {
    const std::optional<std::string> baseline = baseline_of(environment(context, chain, mm));
    if (!baseline) return {};
    if (std::find(all.begin(), all.end(), *baseline) == all.end()) all.push_back(*baseline);
  }
  return all;
}

}  // namespace cryo
