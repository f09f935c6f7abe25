// SPDX-License-Identifier: GPL-2.0-only
#include "restart/mapped.h"

#include <algorithm>
#include <set>

#include "restart/restart_arch.h"

namespace cryo {
namespace {

// With less, asking for pages one by one costs more than reading them.
constexpr std::uint64_t kLeastBytes = 4 << 20;

bool is_ordinary(const Mm& mm, const cryo_vma& vma) {
  constexpr std::uint64_t kOdd = CRYO_VMA_SHARED | CRYO_VMA_GROWSDOWN | CRYO_VMA_LOCKED |
                                 CRYO_VMA_LOCKONFAULT | CRYO_VMA_DROPPABLE | CRYO_VMA_SHADOW_STACK;
  const bool own_key = vma.pkey < 32 && (mm.head.pkeys >> vma.pkey & 1U) != 0;
  return vma.kind == CRYO_VMA_ANON && (vma.flags & kOdd) == 0 && !own_key && !is_tagged(vma.flags);
}

bool can_be_mapped(const Context& context, const PageChunk& chunk) {
  return !chunk.copy && chunk.ancestor == 0 && (chunk.section_flags & CRYO_SECF_XXH64) != 0 &&
         chunk.data_offset % context.header.page_size == 0;
}

bool is_of(const Mm& mm, const PageChunk& chunk) {
  return chunk.kind == CRYO_PAGES_MM && chunk.object == mm.id;
}

// What of a VMA's pages is in the context.
struct Use {
  std::uint64_t bytes = 0;
  bool odd = false;  // some of it cannot be mapped
};

std::vector<Use> uses_of(const Context& context, const Mm& mm) {
  std::vector<Use> uses(mm.vmas.size());
  for (const PageChunk& chunk : context.pages) {
    if (!is_of(mm, chunk)) continue;
    for (const PagePiece& piece : pieces_of(context, mm, chunk)) {
      uses[piece.vma].bytes += piece.nr_pages * context.header.page_size;
      uses[piece.vma].odd |= !can_be_mapped(context, chunk);
    }
  }
  return uses;
}

void add_piece(MappedArea& area, const PageChunk& chunk, const PagePiece& piece) {
  if (area.chunks.empty() || area.chunks.back().offset != chunk.data_offset)
    area.chunks.push_back({chunk.data_offset, static_cast<std::uint32_t>(chunk.nr_pages), chunk.checksum});
  area.runs.push_back({piece.start, piece.offset, static_cast<std::uint32_t>(piece.nr_pages),
                       static_cast<std::uint32_t>(area.chunks.size() - 1)});
}

void drop_too_large(std::map<std::size_t, MappedArea>& areas) {
  std::erase_if(areas, [](const auto& entry) {
    return entry.second.runs.size() > CRYO_MAP_MAX_RUNS || entry.second.chunks.size() > CRYO_MAP_MAX_CHUNKS;
  });
}

}  // namespace

std::vector<PagePiece> pieces_of(const Context& context, const Mm& mm, const PageChunk& chunk) {
  const std::uint64_t page = context.header.page_size;
  std::vector<PagePiece> pieces;
  std::uint64_t offset = chunk.data_offset;
  for (const cryo_page_run& run : chunk.runs) {
    const std::uint64_t end = run.start + run.nr_pages * page;
    auto vma =
        std::upper_bound(mm.vmas.begin(), mm.vmas.end(), run.start,
                         [](std::uint64_t address, const cryo_vma& other) { return address < other.end; });
    for (std::uint64_t at = run.start; at < end && vma != mm.vmas.end(); ++vma) {
      const std::uint64_t stop = std::min<std::uint64_t>(end, vma->end);
      pieces.push_back(
          {static_cast<std::size_t>(vma - mm.vmas.begin()), at, (stop - at) / page, offset + at - run.start});
      at = stop;
    }
    offset += end - run.start;
  }
  return pieces;
}

std::map<std::size_t, MappedArea> mapped_areas(const Context& context, const Mm& mm) {
  std::map<std::size_t, MappedArea> areas;
  const std::vector<Use> uses = uses_of(context, mm);
  for (std::size_t i = 0; i < mm.vmas.size(); ++i)
    if (is_ordinary(mm, mm.vmas[i]) && !uses[i].odd && uses[i].bytes >= kLeastBytes) areas[i];
  if (areas.empty()) return areas;
  for (const PageChunk& chunk : context.pages) {
    if (!is_of(mm, chunk)) continue;
    for (const PagePiece& piece : pieces_of(context, mm, chunk))
      if (const auto area = areas.find(piece.vma); area != areas.end()) add_piece(area->second, chunk, piece);
  }
  for (auto& [index, area] : areas)
    std::sort(area.runs.begin(), area.runs.end(),
              [](const cryo_map_run& a, const cryo_map_run& b) { return a.start < b.start; });
  drop_too_large(areas);
  return areas;
}

std::vector<bool> chunks_left_to_module(const Context& context) {
  std::vector<bool> left(context.pages.size());
  std::set<std::uint64_t> read;  // for a copy
  for (const PageChunk& chunk : context.pages)
    if (chunk.copy) read.insert(chunk.data_offset);
  for (const auto& [id, mm] : context.mms) {
    const std::map<std::size_t, MappedArea> areas = mapped_areas(context, mm);
    for (std::size_t i = 0; i < context.pages.size(); ++i) {
      const PageChunk& chunk = context.pages[i];
      if (!is_of(mm, chunk) || areas.empty()) continue;
      const std::vector<PagePiece> pieces = pieces_of(context, mm, chunk);
      const auto copied = read.lower_bound(chunk.data_offset);
      left[i] = (copied == read.end() || *copied >= chunk.data_offset + chunk.bytes) &&
                std::all_of(pieces.begin(), pieces.end(),
                            [&](const PagePiece& piece) { return areas.contains(piece.vma); });
    }
  }
  return left;
}

}  // namespace cryo
