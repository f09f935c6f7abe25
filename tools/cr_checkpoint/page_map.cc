// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/page_map.h"

#include <algorithm>

namespace cryo {

PageMap::PageMap(const Context& context) {
  for (const PageChunk& chunk : context.pages) {
    pages_ += chunk.nr_pages;
    if (chunk.kind != CRYO_PAGES_MM) continue;
    std::uint64_t offset = chunk.data_offset;
    for (const cryo_page_run& run : chunk.runs) {
      const std::uint64_t bytes = run.nr_pages * context.header.page_size;
      memories_[chunk.object].push_back({run.start, run.start + bytes, chunk.ancestor, offset});
      offset += bytes;
    }
  }
  for (auto& [mm, stretches] : memories_)
    std::sort(stretches.begin(), stretches.end(),
              [](const PageStretch& a, const PageStretch& b) { return a.start < b.start; });
}

std::vector<PageStretch> PageMap::find(std::uint32_t mm, std::uint64_t start, std::uint64_t end) const {
  std::vector<PageStretch> found;
  const auto memory = memories_.find(mm);
  if (memory == memories_.end()) return found;
  auto at = std::upper_bound(memory->second.begin(), memory->second.end(), start,
                             [](std::uint64_t address, const PageStretch& s) { return address < s.end; });
  for (; at != memory->second.end() && at->start < end; ++at) {
    PageStretch part = *at;
    part.end = std::min(part.end, end);
    if (part.start < start) {
      part.offset += start - part.start;
      part.start = start;
    }
    found.push_back(part);
  }
  return found;
}

}  // namespace cryo
