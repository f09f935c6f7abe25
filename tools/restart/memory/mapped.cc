// SPDX-License-Identifier: GPL-2.0-only
#include "restart/memory/mapped.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "restart/common/restart_arch.h"

namespace cryo {
namespace {

bool is_ordinary(const Mm& mm, const cryo_vma& vma) {
  constexpr std::uint64_t kOdd = CRYO_VMA_SHARED | CRYO_VMA_GROWSDOWN | CRYO_VMA_LOCKED |
                                 CRYO_VMA_LOCKONFAULT | CRYO_VMA_DROPPABLE | CRYO_VMA_SHADOW_STACK |
                                 CRYO_VMA_HUGETLB;
  const bool own_key = vma.pkey < 32 && (mm.head.pkeys >> vma.pkey & 1U) != 0;
  return vma.kind == CRYO_VMA_ANON && (vma.flags & kOdd) == 0 && !own_key && !is_tagged(vma.flags);
}

// The one that has the byte; nullptr: none has.
const PageData* section_at(const std::vector<PageData>& sections, std::uint64_t offset) {
  const auto after =
      std::upper_bound(sections.begin(), sections.end(), offset,
                       [](std::uint64_t at, const PageData& section) { return at < section.offset; });
  if (after == sections.begin()) return nullptr;
  const PageData& section = *std::prev(after);
  return offset - section.offset < section.length ? &section : nullptr;
}

// The section that has the bytes of a chunk, if the module can take them from it.
std::optional<PageData> mappable(const Context& context, const PageChunk& chunk, const MappableFiles& files) {
  const std::uint64_t page = context.header.page_size;
  if (chunk.copy || chunk.ancestor >= files.size() || !files[chunk.ancestor].mapped) return std::nullopt;
  PageData data{chunk.data_offset, chunk.bytes, chunk.checksum, chunk.section_flags};
  if (chunk.ancestor != 0) {
    const PageData* section = section_at(files[chunk.ancestor].sections, chunk.data_offset);
    if (section == nullptr || chunk.data_offset + chunk.bytes > section->offset + section->length ||
        section->length % page != 0 || section->length / page > CRYO_PAGES_MAX)
      return std::nullopt;
    data = *section;
  }
  if ((data.section_flags & CRYO_SECF_XXH64) == 0 || data.offset % page != 0) return std::nullopt;
  return data;
}

// The first VMA that ends behind the address.
std::vector<cryo_vma>::const_iterator vma_at(const Mm& mm, std::uint64_t start) {
  return std::upper_bound(mm.vmas.begin(), mm.vmas.end(), start,
                          [](std::uint64_t address, const cryo_vma& vma) { return address < vma.end; });
}

bool is_of(const Mm& mm, const PageChunk& chunk) {
  return chunk.kind == CRYO_PAGES_MM && chunk.object == mm.id;
}

// What of a VMA's pages is in the context.
struct Use {
  std::uint64_t bytes = 0;
  bool odd = false;  // some of it cannot be mapped
};

std::vector<Use> uses_of(const Context& context, const Mm& mm, const MappableFiles& files) {
  std::vector<Use> uses(mm.vmas.size());
  for (const PageChunk& chunk : context.pages) {
    if (!is_of(mm, chunk)) continue;
    const bool odd = !mappable(context, chunk, files);
    const auto use = [&](std::size_t vma, std::uint64_t bytes) {
      uses[vma].bytes += bytes;
      uses[vma].odd |= odd;
    };
    if (const std::optional<std::size_t> vma = only_vma_of(context, mm, chunk)) {
      use(*vma, chunk.bytes);
      continue;
    }
    for (const PagePiece& piece : pieces_of(context, mm, chunk))
      use(piece.vma, piece.nr_pages * context.header.page_size);
  }
  return uses;
}

// Makes the tables of an area.  Both are in the order of its addresses, in which pages are likely to be asked
// for.
class AreaBuilder {
 public:
  void add(std::uint32_t file, const PageData& data, const PagePiece& piece) {
    parts_.push_back({piece, file, data});
  }

  [[nodiscard]] MappedArea finish(std::uint64_t page_size) {
    const auto before = [](const Part& a, const Part& b) { return a.piece.start < b.piece.start; };
    if (!std::is_sorted(parts_.begin(), parts_.end(), before))
      std::sort(parts_.begin(), parts_.end(), before);
    MappedArea area;
    area.runs.reserve(parts_.size());
    for (const Part& part : parts_)
      area.runs.push_back({part.piece.start, part.piece.offset,
                           static_cast<std::uint32_t>(part.piece.nr_pages), chunk_of(area, part, page_size)});
    return area;
  }

 private:
  struct Part {
    PagePiece piece;
    std::uint32_t file;
    PageData data;
  };

  // Where pages have been written to since, what is left of a section is in several runs.
  std::uint32_t chunk_of(MappedArea& area, const Part& part, std::uint64_t page_size) {
    const PageData& data = part.data;
    if (!area.runs.empty()) {
      const std::uint32_t last = area.runs.back().chunk;
      if (area.chunks[last].offset == data.offset && area.chunks[last].file == part.file) return last;
    }
    const auto [known, is_new] =
        chunks_.try_emplace({part.file, data.offset}, static_cast<std::uint32_t>(area.chunks.size()));
    if (is_new)
      area.chunks.push_back({data.offset, static_cast<std::uint16_t>(data.length / page_size),
                             static_cast<std::uint16_t>(part.file), data.checksum});
    return known->second;
  }

  std::vector<Part> parts_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> chunks_;
};

// What the process has used of an area since the checkpoint before.
std::vector<cryo_map_range> used_of(const Mm& mm, const cryo_vma& vma, std::uint64_t page_size) {
  static_assert(CRYO_USED_MAX_RUNS <= CRYO_MAP_MAX_FIRST);
  std::vector<cryo_map_range> ranges;
  auto run = std::upper_bound(mm.used.begin(), mm.used.end(), vma.start,
                              [page_size](std::uint64_t address, const cryo_page_run& other) {
                                return address < other.start + other.nr_pages * page_size;
                              });
  for (; run != mm.used.end() && run->start < vma.end; ++run) {
    const std::uint64_t start = std::max<std::uint64_t>(run->start, vma.start);
    const std::uint64_t stop = std::min<std::uint64_t>(run->start + run->nr_pages * page_size, vma.end);
    ranges.push_back({start, (stop - start) / page_size});
  }
  return ranges;
}

void drop_too_large(MappedAreas& areas) {
  std::erase_if(areas, [](const auto& entry) {
    return entry.second.runs.size() > CRYO_MAP_MAX_RUNS || entry.second.chunks.size() > CRYO_MAP_MAX_CHUNKS;
  });
}

}  // namespace

std::optional<std::size_t> only_vma_of(const Context& context, const Mm& mm, const PageChunk& chunk) {
  const std::uint64_t start = chunk.runs.front().start;
  const cryo_page_run& last = chunk.runs.back();
  const auto vma = vma_at(mm, start);
  if (vma == mm.vmas.end() || last.start + last.nr_pages * context.header.page_size > vma->end) return {};
  return static_cast<std::size_t>(vma - mm.vmas.begin());
}

std::vector<PagePiece> pieces_of(const Context& context, const Mm& mm, const PageChunk& chunk) {
  const std::uint64_t page = context.header.page_size;
  std::vector<PagePiece> pieces;
  std::uint64_t offset = chunk.data_offset;
  for (const cryo_page_run& run : chunk.runs) {
    const std::uint64_t end = run.start + run.nr_pages * page;
    auto vma = vma_at(mm, run.start);
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

MappedAreas mapped_areas(const Context& context, const Mm& mm, const MappableFiles& files,
                         const InheritedVmas& inherited) {
  MappedAreas areas;
  if (files.empty()) return areas;
  std::map<std::size_t, AreaBuilder> builders;
  const std::vector<Use> uses = uses_of(context, mm, files);
  for (std::size_t i = 0; i < mm.vmas.size(); ++i)
    if (is_ordinary(mm, mm.vmas[i]) && !uses[i].odd && uses[i].bytes >= kLeastMappedBytes &&
        !inherited.contains(i))
      builders[i];
  if (builders.empty()) return areas;
  for (const PageChunk& chunk : context.pages) {
    if (!is_of(mm, chunk)) continue;
    const std::optional<PageData> data = mappable(context, chunk, files);
    for (const PagePiece& piece : pieces_of(context, mm, chunk))
      if (const auto builder = builders.find(piece.vma); builder != builders.end())
        builder->second.add(chunk.ancestor, *data, piece);
  }
  for (auto& [index, builder] : builders) {
    MappedArea& area = areas.emplace(index, builder.finish(context.header.page_size)).first->second;
    area.first = used_of(mm, mm.vmas[index], context.header.page_size);
  }
  drop_too_large(areas);
  return areas;
}

MappedMemory mapped_memory(const Context& context, const MappableFiles& files,
                           const InheritedPages& inherited) {
  MappedMemory memory;
  for (const auto& [id, mm] : context.mms)
    memory.emplace(id, mapped_areas(context, mm, files, inherited.vmas_of(mm)));
  return memory;
}

bool is_mapped(const Context& context, const Mm& mm, const PageChunk& chunk, const MappedAreas& areas) {
  if (const std::optional<std::size_t> vma = only_vma_of(context, mm, chunk)) return areas.contains(*vma);
  const std::vector<PagePiece> pieces = pieces_of(context, mm, chunk);
  return std::all_of(pieces.begin(), pieces.end(),
                     [&](const PagePiece& piece) { return areas.contains(piece.vma); });
}

ChunkSet chunks_left_to_module(const Context& context, const MappedMemory& mapped) {
  ChunkSet left(context.pages.size());
  std::set<std::uint64_t> read;  // for a copy
  for (const PageChunk& chunk : context.pages)
    if (chunk.copy) read.insert(chunk.data_offset);
  for (const auto& [id, areas] : mapped) {
    if (areas.empty()) continue;
    const Mm& mm = context.mm(id);
    for (std::size_t i = 0; i < context.pages.size(); ++i) {
      const PageChunk& chunk = context.pages[i];
      if (!is_of(mm, chunk)) continue;
      const auto copied = read.lower_bound(chunk.data_offset);
      left[i] = (chunk.ancestor != 0 || copied == read.end() || *copied >= chunk.data_offset + chunk.bytes) &&
                is_mapped(context, mm, chunk, areas);
    }
  }
  return left;
}

}  // namespace cryo
