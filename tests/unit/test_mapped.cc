// SPDX-License-Identifier: GPL-2.0-only
// Which memory comes from the context when it is used first, and from where in it.
#include "restart/mapped.h"
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
  const auto areas = mapped_areas(context, context.mm(1));
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

TEST("mapped: checksums of what is read as well are not left to the module") {
  const std::vector<bool> left = chunks_left_to_module(sample());
  CHECK(left[0]);
  CHECK(!left[1]);
}

// Nothing of the sample is mapped after `change`.
template <typename Change>
bool is_read_after(Change&& change) {
  Context context = sample();
  change(context);
  return mapped_areas(context, context.mm(1)).empty();
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
  CHECK(!chunks_left_to_module(context)[0]);
}

}  // namespace
}  // namespace cryo::test
