// SPDX-License-Identifier: GPL-2.0-only
// Mapped restart: which memory comes from the context, or from one that has bytes of it, when it is used
// first, and from where in it.
#pragma once

#include <cryo/map.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "context/chain.h"
#include "context/model.h"
#include "restart/memory/inherited_pages.h"

namespace cryo {

// What the module may take pages from.
struct MappableFile {
  bool mapped = false;             // the module has it
  std::vector<PageData> sections;  // of an ancestor, with their checksums; ascending
};

// By PageChunk::ancestor; empty: nothing is mapped.
using MappableFiles = std::vector<MappableFile>;

// As CRYO_RST_MAP wants it.
struct MappedArea {
  std::vector<cryo_map_run> runs;
  std::vector<cryo_map_chunk> chunks;
  std::vector<cryo_map_range> first;  // what the process has used last
};

// A part of a run that lies in one VMA.
struct PagePiece {
  std::size_t vma = 0;  // index
  std::uint64_t start = 0;
  std::uint64_t nr_pages = 0;
  std::uint64_t offset = 0;  // in the file that has the bytes
};

// In the order of the bytes.  Of memory, not of files.
[[nodiscard]] std::vector<PagePiece> pieces_of(const Context& context, const Mm& mm, const PageChunk& chunk);

// Index of the one that has all pages of the chunk; nothing: several have.
[[nodiscard]] std::optional<std::size_t> only_vma_of(const Context& context, const Mm& mm,
                                                     const PageChunk& chunk);

// By index of the VMA.
using MappedAreas = std::map<std::size_t, MappedArea>;

// Of all memory of a job, by id of the mm.
using MappedMemory = std::map<std::uint32_t, MappedAreas>;

// With less in an area, asking for pages one by one costs more than reading them.
inline constexpr std::uint64_t kLeastMappedBytes = 4 << 20;

// Private anonymous memory with nothing special about it that has so much in the context that it pays, all of
// it in files that the module has; but for what the process inherits.
[[nodiscard]] MappedAreas mapped_areas(const Context& context, const Mm& mm, const MappableFiles& files,
                                       const InheritedVmas& inherited = {});
[[nodiscard]] MappedMemory mapped_memory(const Context& context, const MappableFiles& files,
                                         const InheritedPages& inherited = {});

// Are all of its pages?
[[nodiscard]] bool is_mapped(const Context& context, const Mm& mm, const PageChunk& chunk,
                             const MappedAreas& areas);

// Those whose checksums the module compares, because it alone uses their bytes.
[[nodiscard]] ChunkSet chunks_left_to_module(const Context& context, const MappedMemory& mapped);

}  // namespace cryo
