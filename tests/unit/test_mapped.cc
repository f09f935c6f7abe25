// SPDX-License-Identifier: GPL-2.0-only
// Which memory comes from the context when it is used first, and from where in it.
#include "restart/memory/mapped.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLarge = 0x10000000;
constexpr std::uint64_t kLargePages = 1024;  // 4 MiB, the least
constexpr std::uint64_t kNext = kLarge + kLargePages * kPage;
constexpr std::uint64_t kChunk = 512;

cryo_vma vma(std::uint64_t start, std::uint64_t pages) {
  cryo_vma result{};
  result.start = start;
  result.end = start + pages * kPage;
  result.flags = CRYO_VMA_READ | CRYO_VMA_WRITE;
  return result;
}

PageChunk chunk(std::vector<cryo_page_run> runs, std::uint64_t offset) {
  PageChunk result;
  result.object = 1;
  for (const cryo_page_run& run : runs) result.nr_pages += run.nr_pages;
  result.runs = std::move(runs);
  result.bytes = result.nr_pages * kPage;
  result.data_offset = offset;
  result.checksum = static_cast<std::uint32_t>(offset / kPage);
  result.section_flags = CRYO_SECF_REQUIRED | CRYO_SECF_XXH64;
  return result;
}

// A large area, and one page of a small one right behind it, in one run.
Context sample() {
  Context context;
  context.header.page_size = kPage;
  Mm mm;
  mm.id = 1;
  mm.vmas = {vma(kLarge, kLargePages), vma(kNext, 3)};
  context.mms.emplace(1, mm);
  context.pages = {chunk({{kLarge, kChunk}}, 10 * kPage),
                   chunk({{kLarge + kChunk * kPage, kChunk + 1}}, 600 * kPage)};
  return context;
}

const MappableFiles kOwn = {{true, {}}};

TEST("mapped: a run over two areas is two pieces") {
  const Context context = sample();
  const std::vector<PagePiece> pieces = pieces_of(context, context.mm(1), context.pages[1]);
  CHECK_EQ(pieces.size(), 2U);
  CHECK_EQ(pieces[0].vma, 0U);
  CHECK_EQ(pieces[0].nr_pages, kChunk);
  CHECK_EQ(pieces[1].vma, 1U);
  CHECK_EQ(pieces[1].start, kNext);
  CHECK_EQ(pieces[1].nr_pages, 1U);
  CHECK_EQ(pieces[1].offset, (600 + kChunk) * kPage);
}

TEST("mapped: large areas, with what the module has to know of them") {
  const Context context = sample();
  const auto areas = mapped_areas(context, context.mm(1), kOwn);
  CHECK_EQ(areas.size(), 1U);
  const MappedArea& area = areas.at(0);
  CHECK_EQ(area.runs.size(), 2U);
  CHECK_EQ(area.chunks.size(), 2U);
  CHECK_EQ(area.runs[1].start, kLarge + kChunk * kPage);
  CHECK_EQ(area.runs[1].offset, 600 * kPage);
  CHECK_EQ(area.runs[1].nr_pages, kChunk);
  CHECK_EQ(area.runs[1].chunk, 1U);
  CHECK_EQ(area.chunks[1].nr_pages, kChunk + 1);
  CHECK_EQ(area.chunks[1].checksum, 600U);
}

TEST("mapped: what has been used last, of this area") {
  Context context = sample();
  Mm& mm = context.mms.at(1);
  CHECK(mapped_areas(context, mm, kOwn).at(0).first.empty());
  mm.used = {{kPage, 1},                // before it
             {kLarge - kPage, 3},       // begins before it
             {kLarge + 10 * kPage, 5},  // inside
             {kNext - kPage, 2},        // goes on behind it
             {kNext + 2 * kPage, 1}};   // behind it
  const std::vector<cryo_map_range> first = mapped_areas(context, mm, kOwn).at(0).first;
  CHECK_EQ(first.size(), 3U);
  CHECK_EQ(first[0].start, kLarge);
  CHECK_EQ(first[0].nr_pages, 2U);
  CHECK_EQ(first[1].start, kLarge + 10 * kPage);
  CHECK_EQ(first[1].nr_pages, 5U);
  CHECK_EQ(first[2].start, kNext - kPage);
  CHECK_EQ(first[2].nr_pages, 1U);
  mm.used = {{kPage, 2 * kNext / kPage}};  // all
  const std::vector<cryo_map_range> all = mapped_areas(context, mm, kOwn).at(0).first;
  CHECK_EQ(all.size(), 1U);
  CHECK_EQ(all[0].nr_pages, kLargePages);
}

TEST("mapped: checksums of what is read as well are not left to the module") {
  const std::vector<bool> left = chunks_left_to_module(sample(), mapped_memory(sample(), kOwn));
  CHECK(left[0]);
  CHECK(!left[1]);
}

// Nothing of the sample is mapped after `change`.
template <typename Change>
bool is_read_after(Change&& change) {
  Context context = sample();
  change(context);
  return mapped_areas(context, context.mm(1), kOwn).empty();
}

TEST("mapped: what is odd is read") {
  for (const std::uint64_t flag : {CRYO_VMA_SHARED, CRYO_VMA_GROWSDOWN, CRYO_VMA_LOCKED, CRYO_VMA_LOCKONFAULT,
                                   CRYO_VMA_DROPPABLE, CRYO_VMA_SHADOW_STACK})
    CHECK(is_read_after([flag](Context& context) { context.mms.at(1).vmas[0].flags |= flag; }));
  CHECK(is_read_after([](Context& context) { context.mms.at(1).vmas[0].kind = CRYO_VMA_FILE; }));
  CHECK(is_read_after([](Context& context) {
    context.mms.at(1).head.pkeys = 2;
    context.mms.at(1).vmas[0].pkey = 1;
  }));
  CHECK(is_read_after([](Context& context) { context.pages[0].copy = true; }));
  CHECK(is_read_after([](Context& context) { context.pages[0].ancestor = 1; }));
  CHECK(is_read_after([](Context& context) { context.pages[0].section_flags = CRYO_SECF_REQUIRED; }));
  CHECK(is_read_after([](Context& context) { context.pages[0].data_offset += 8; }));
  CHECK(is_read_after([](Context& context) {
    context.pages[1] = chunk({{kLarge + kChunk * kPage, kChunk - 1}}, 600 * kPage);
  }));
}

TEST("mapped: the bytes of a copy are read, so their checksum is compared") {
  Context context = sample();
  Mm other;
  other.id = 2;
  other.vmas = {vma(kLarge, 1)};
  context.mms.emplace(2, other);
  PageChunk copy = chunk({{kLarge, 1}}, 12 * kPage);
  copy.object = 2;
  copy.copy = true;
  context.pages.push_back(copy);
  CHECK(!chunks_left_to_module(context, mapped_memory(context, kOwn))[0]);
}

// The first 512 pages are the last ones of two sections of the ancestor, in the other order.
Context with_ancestor() {
  Context context = sample();
  const auto elsewhere = [](std::uint64_t start, std::uint64_t pages, std::uint64_t offset) {
    PageChunk result = chunk({{start, pages}}, offset);
    result.ancestor = 1;
    result.checksum = 0;
    result.section_flags = 0;
    return result;
  };
  context.ancestors.resize(1);
  context.pages[0] = elsewhere(kLarge, kChunk / 2, (1000 + kChunk / 2) * kPage);
  context.pages.push_back(elsewhere(kLarge + kChunk / 2 * kPage, kChunk / 2 - 1, 101 * kPage));
  context.pages.push_back(elsewhere(kLarge + (kChunk - 1) * kPage, 1, 1000 * kPage));
  return context;
}

PageData section(std::uint64_t offset, std::uint64_t pages) {
  return {offset * kPage, pages * kPage, static_cast<std::uint32_t>(offset),
          CRYO_SECF_REQUIRED | CRYO_SECF_XXH64};
}

const MappableFiles kTwo = {{true, {}}, {true, {section(100, kChunk / 2), section(1000, kChunk)}}};

TEST("mapped: from the sections of an ancestor, each known by its checksum once") {
  const Context context = with_ancestor();
  const auto areas = mapped_areas(context, context.mm(1), kTwo);
  CHECK_EQ(areas.size(), 1U);
  const MappedArea& area = areas.at(0);
  CHECK_EQ(area.runs.size(), 4U);
  CHECK_EQ(area.chunks.size(), 3U);
  const auto chunk_of = [&](std::size_t run) { return area.chunks[area.runs[run].chunk]; };
  CHECK_EQ(chunk_of(0).offset, 1000 * kPage);
  CHECK_EQ(chunk_of(0).nr_pages, kChunk);
  CHECK_EQ(chunk_of(0).file, 1U);
  CHECK_EQ(chunk_of(0).checksum, 1000U);
  CHECK_EQ(area.runs[0].offset, (1000 + kChunk / 2) * kPage);
  CHECK_EQ(chunk_of(1).offset, 100 * kPage);
  CHECK_EQ(area.runs[2].chunk, area.runs[0].chunk);
  CHECK_EQ(chunk_of(3).offset, 600 * kPage);
  CHECK_EQ(chunk_of(3).file, 0U);
}

TEST("mapped: what is in an ancestor is left to the module, or compared before") {
  const Context context = with_ancestor();
  const ChunkSet left = chunks_left_to_module(context, mapped_memory(context, kTwo));
  CHECK(left[0] && !left[1] && left[2] && left[3]);
  const ChunkSet none = chunks_left_to_module(context, mapped_memory(context, kOwn));
  CHECK(!none[0] && !none[2] && !none[3]);
  CHECK(mapped_areas(context, context.mm(1), kOwn).empty());
  CHECK(mapped_areas(context, context.mm(1), {}).empty());
}

// Nothing is mapped when the section at page 100 of the ancestor is this one.
bool is_read_from(const PageData& odd) {
  const Context context = with_ancestor();
  const MappableFiles files = {{true, {}}, {true, {odd, section(1000, kChunk)}}};
  return mapped_areas(context, context.mm(1), files).empty();
}

TEST("mapped: sections of an ancestor that the module cannot take pages from") {
  CHECK(!is_read_from(section(100, kChunk / 2)));
  CHECK(is_read_from(section(100, kChunk / 2 - 1)));  // the run goes on behind it
  CHECK(is_read_from(section(102, kChunk / 2)));      // begins before it
  CHECK(is_read_from(section(100, kChunk + 1)));
  PageData odd = section(100, kChunk / 2);
  odd.section_flags = CRYO_SECF_REQUIRED;
  CHECK(is_read_from(odd));
  odd = section(100, kChunk / 2);
  odd.offset -= 8;
  CHECK(is_read_from(odd));
  odd = section(100, kChunk / 2);
  odd.length += 8;
  CHECK(is_read_from(odd));
}

}  // namespace
}  // namespace cryo::test
