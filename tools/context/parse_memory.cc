// SPDX-License-Identifier: GPL-2.0-only
// Sections about address spaces and their pages.
#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>

#include "base/crc32c.h"
#include "context/file_kinds.h"
#include "context/mm_checks.h"
#include "context/staging.h"

namespace cryo {
namespace {

// Of those from bit 32 on, which are an architecture's, there are two so far.
constexpr std::uint64_t kVmaFlags = ((CRYO_VMA_HUGETLB << 1) - 1) | 3ULL << 32;

bool is_huge_shift(std::uint32_t shift, std::uint64_t page) {
  return shift <= CRYO_HUGE_SHIFT_MAX && (std::uint64_t{1} << shift) > page;
}

void check_huge_vma(const Payload& payload, const cryo_vma& vma, std::uint64_t page) {
  const bool huge = vma.flags & CRYO_VMA_HUGETLB;
  if (!huge && vma.huge_shift == 0) return;
  if (!huge || !is_huge_shift(vma.huge_shift, page))
    payload.damaged("{:#x}-{:#x}: cannot have pages of 1 << {} bytes", vma.start, vma.end, vma.huge_shift);
  const std::uint64_t rest = (std::uint64_t{1} << vma.huge_shift) - 1;
  if (((vma.start | vma.end | vma.offset) & rest) != 0)
    payload.damaged("{:#x}-{:#x} +{:#x} is no range of pages of {} bytes", vma.start, vma.end, vma.offset,
                    rest + 1);
  const bool private_only = vma.kind == CRYO_VMA_ANON;
  const bool known =
      private_only || vma.kind == CRYO_VMA_FILE || vma.kind == CRYO_VMA_SHMEM || vma.kind == CRYO_VMA_SYSV;
  constexpr std::uint64_t kNever = CRYO_VMA_GROWSDOWN | CRYO_VMA_DROPPABLE | CRYO_VMA_SHADOW_STACK;
  if (!known || (vma.flags & kNever) != 0 || (private_only && (vma.flags & CRYO_VMA_SHARED) != 0))
    payload.damaged("{:#x}-{:#x}: such memory cannot be of hugetlbfs", vma.start, vma.end);
}

void check_vma(Staging& staging, const Payload& payload, const cryo_vma& vma) {
  const std::uint64_t page = staging.scanner.header().page_size;
  if (vma.start >= vma.end || vma.start % page != 0 || vma.end % page != 0)
    payload.damaged("{:#x}-{:#x} is no range of pages (page size {})", vma.start, vma.end, page);
  if (vma.kind > CRYO_VMA_AIO)
    staging.unknown(payload.section(), "{:#x}-{:#x}: unknown kind {}", vma.start, vma.end, vma.kind);
  if (vma.flags & ~kVmaFlags)
    staging.unknown(payload.section(), "{:#x}-{:#x}: unknown flags {:#x}", vma.start, vma.end,
                    vma.flags & ~kVmaFlags);
  if (vma.flags & CRYO_VMA_SHADOW_STACK && (vma.kind != CRYO_VMA_ANON || vma.flags & CRYO_VMA_SHARED))
    payload.damaged("{:#x}-{:#x} is a shadow stack and is shared or of a file", vma.start, vma.end);
  const bool needs_file = vma.kind == CRYO_VMA_FILE || vma.kind == CRYO_VMA_SHMEM;
  if (needs_file && vma.file == 0) payload.damaged("{:#x}-{:#x} maps no file", vma.start, vma.end);
  if (needs_file && vma.offset % page != 0)
    payload.damaged("{:#x}-{:#x}: offset {:#x} is not at a page", vma.start, vma.end, vma.offset);
  if (vma.offset > std::numeric_limits<std::uint64_t>::max() - (vma.end - vma.start))
    payload.damaged("{:#x}-{:#x}: offset {:#x} is too large", vma.start, vma.end, vma.offset);
  check_huge_vma(payload, vma, page);
}

}  // namespace

std::uint64_t check_runs(const Staging& staging, const Payload& payload,
                         const std::vector<cryo_page_run>& runs, std::uint64_t limit) {
  const std::uint64_t page = staging.scanner.header().page_size;
  std::uint64_t pages = 0;
  std::uint64_t end = 0;
  for (const cryo_page_run& run : runs) {
    const std::uint64_t most = (std::numeric_limits<std::uint64_t>::max() - run.start) / page;
    if (run.start % page != 0 || run.nr_pages == 0 || run.nr_pages > most)
      payload.damaged("{:#x} +{} pages is no range of pages (page size {})", run.start, run.nr_pages, page);
    if (run.start < end) payload.damaged("runs at {:#x} are not in order", run.start);
    end = run.start + run.nr_pages * page;
    pages += run.nr_pages;
    if (pages > limit) payload.damaged("more than {} pages", limit);
  }
  return pages;
}

void mention_owner(Staging& staging, const Payload& payload, std::uint32_t kind) {
  const std::uint32_t id = id_of(payload);
  if (kind == CRYO_PAGES_MM)
    (void)staging.mms.mention(id, payload.section());
  else if (kind == CRYO_PAGES_INODE)
    (void)staging.inodes.mention(id, payload.section());
  else if (kind == CRYO_PAGES_TMPFS)
    (void)staging.mount_entries.mention(id, payload.section());
  else
    staging.unknown(payload.section(), "unknown kind {}", kind);
}

void parse_mm(Staging& staging, const Payload& payload) {
  Mm& mm = staging.mms.define(id_of(payload), payload);
  mm.id = payload.object();
  mm.head = payload.fixed<cryo_mm>();
  if (mm.head.pkeys & 1U) payload.damaged("protection key 0 is said to be allocated");
  mm.auxv = payload.words<std::uint64_t>();
}

void parse_vdso(Staging& staging, const Payload& payload) {
  const auto head = payload.fixed<cryo_vdso>();
  const std::uint64_t page = staging.scanner.header().page_size;
  const auto tail = payload.tail();
  staging.once(payload);
  if (head.image_len == 0 || head.image_len % page != 0 || head.image_len > CRYO_VDSO_MAX)
    payload.damaged("an image of {} bytes", head.image_len);
  if (head.data_len > page || tail.size() != std::uint64_t{head.image_len} + head.data_len)
    payload.damaged("an image of {} bytes and data of {} bytes do not fill its {} bytes", head.image_len,
                    head.data_len, tail.size());
  const auto image = tail.first(head.image_len);
  const auto data = tail.subspan(head.image_len);
  if (crc32c(image) != payload.object())
    payload.damaged("its checksum is {:08x}, not {:08x}", crc32c(image), payload.object());
  staging.vdsos[payload.object()] = {{image.begin(), image.end()}, {data.begin(), data.end()}};
}

void parse_vma(Staging& staging, const Payload& payload) {
  const auto vma = payload.fixed<cryo_vma>();
  check_vma(staging, payload, vma);
  Mm& mm = staging.mms.mention(id_of(payload), payload.section());
  if (!mm.vmas.empty() && vma.start < mm.vmas.back().end)
    payload.damaged("{:#x}-{:#x} overlaps {:#x}-{:#x}, or is out of order", vma.start, vma.end,
                    mm.vmas.back().start, mm.vmas.back().end);
  mm.vmas.push_back(vma);
}

namespace {

// The chunk that has the bytes from `offset` on. Those with bytes of their own are ascending.
bool has_bytes(const Staging& staging, std::uint64_t offset, std::uint64_t bytes) {
  const auto& own = staging.own_chunks;
  const auto after = std::upper_bound(own.begin(), own.end(), offset,
                                      [](std::uint64_t at, const auto& chunk) { return at < chunk.first; });
  if (after == own.begin()) return false;
  const auto& [start, length] = *std::prev(after);
  return offset - start < length && bytes <= length - (offset - start);
}

}  // namespace

void parse_page_copies(Staging& staging, const Payload& payload) {
  const std::uint64_t page = staging.scanner.header().page_size;
  (void)staging.mms.mention(id_of(payload), payload.section());
  for (const cryo_page_copy& copy : payload.array<cryo_page_copy>()) {
    PageChunk chunk;
    chunk.object = payload.object();
    chunk.runs = {{copy.start, copy.nr_pages}};
    chunk.nr_pages = check_runs(staging, payload, chunk.runs, CRYO_PAGES_MAX);
    chunk.bytes = chunk.nr_pages * page;
    chunk.data_offset = copy.offset;
    chunk.copy = true;
    if (copy.offset % page != 0 || !has_bytes(staging, copy.offset, chunk.bytes))
      payload.damaged("{:#x} +{} pages: byte {} is not one of pages before it", copy.start, copy.nr_pages,
                      copy.offset);
    staging.pages.push_back(std::move(chunk));
  }
}

void parse_excluded(Staging& staging, const Payload& payload) {
  const std::uint64_t page = staging.scanner.header().page_size;
  auto& excluded = staging.mms.mention(id_of(payload), payload.section()).excluded;
  for (const cryo_excluded& range : payload.array<cryo_excluded>()) {
    if (range.start >= range.end || range.start % page != 0 || range.end % page != 0)
      payload.damaged("{:#x}-{:#x} is no range of pages (page size {})", range.start, range.end, page);
    if (!excluded.empty() && range.start < excluded.back().end)
      payload.damaged("ranges at {:#x} are not in order", range.start);
    if (range.nr_pages > (range.end - range.start) / page)
      payload.damaged("{:#x}-{:#x} cannot have {} pages", range.start, range.end, range.nr_pages);
    excluded.push_back(range);
  }
}

namespace {

// Those of a section, which follow the ones that other sections had. `most`: in one section.
void add_runs(Staging& staging, const Payload& payload, std::size_t most, std::size_t limit,
              std::vector<cryo_page_run>& all) {
  const std::uint64_t page = staging.scanner.header().page_size;
  const std::vector<cryo_page_run> runs = payload.array<cryo_page_run>();
  if (runs.empty() || runs.size() > most || runs.size() > limit - all.size())
    payload.damaged("{} runs, after {} others", runs.size(), all.size());
  (void)check_runs(staging, payload, runs, std::numeric_limits<std::uint64_t>::max());
  if (!all.empty() && runs.front().start < all.back().start + all.back().nr_pages * page)
    payload.damaged("runs at {:#x} are not in order", runs.front().start);
  all.insert(all.end(), runs.begin(), runs.end());
}

}  // namespace

void parse_pages_used(Staging& staging, const Payload& payload) {
  add_runs(staging, payload, CRYO_USED_MAX, CRYO_USED_MAX_RUNS,
           staging.mms.mention(id_of(payload), payload.section()).used);
}

void parse_guards(Staging& staging, const Payload& payload) {
  add_runs(staging, payload, CRYO_GUARDS_MAX, std::numeric_limits<std::size_t>::max(),
           staging.mms.mention(id_of(payload), payload.section()).guards);
}

void parse_aio(Staging& staging, const Payload& payload) {
  AioContext aio{payload.fixed<cryo_aio>(), payload.tail_bytes()};
  const cryo_aio& head = aio.head;
  if (head.size <= CRYO_AIO_EVENTS || head.nr != (head.size - CRYO_AIO_EVENTS) / CRYO_AIO_EVENT_SIZE)
    payload.damaged("a ring of {} bytes with room for {} events", head.size, head.nr);
  if (head.max_reqs == 0 || head.max_reqs >= head.nr)
    payload.damaged("a ring with room for {} events, for {} requests", head.nr, head.max_reqs);
  if (head.head >= head.nr || head.tail >= head.nr)
    payload.damaged("a ring with room for {} events, with events from {} to {}", head.nr, head.head,
                    head.tail);
  const std::uint64_t events = (std::uint64_t{head.nr} + head.tail - head.head) % head.nr;
  if (aio.events.size() != events * CRYO_AIO_EVENT_SIZE)
    payload.damaged("{} events in {} bytes", events, aio.events.size());
  staging.mms.mention(id_of(payload), payload.section()).aio.push_back(std::move(aio));
}

void parse_hugetlb(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const auto head = payload.fixed<cryo_hugetlb>();
  if (!is_huge_shift(head.page_shift, staging.scanner.header().page_size))
    payload.damaged("inode {}: cannot have pages of 1 << {} bytes", payload.object(), head.page_shift);
  staging.inodes.mention(id_of(payload), payload.section()).huge_size = std::uint64_t{1} << head.page_shift;
}

void parse_page_tags(Staging& staging, const Payload& payload) {
  const auto head = payload.fixed<cryo_page_tags>();
  const std::uint64_t page = staging.scanner.header().page_size;
  const auto tail = payload.tail();
  const std::uint64_t runs = std::uint64_t{head.nr_runs} * head.record_size;
  if (head.record_size < sizeof(cryo_page_run)) payload.damaged("records of {} bytes", head.record_size);
  if (head.tag_bytes != page / CRYO_TAG_GRANULE / 2)
    payload.damaged("tags of {} bytes for a page of {}", head.tag_bytes, page);
  if (runs + std::uint64_t{head.nr_pages} * head.tag_bytes != tail.size())
    payload.damaged("{} runs of {} bytes and the tags of {} pages do not fill its {} bytes", head.nr_runs,
                    head.record_size, head.nr_pages, tail.size());
  TagChunk chunk;
  chunk.kind = head.kind;
  chunk.object = id_of(payload);
  for (std::uint64_t at = 0; at < runs; at += head.record_size)
    chunk.runs.push_back(grown<cryo_page_run>(tail.subspan(at, head.record_size)));
  chunk.nr_pages = check_runs(staging, payload, chunk.runs, CRYO_PAGES_MAX);
  if (chunk.nr_pages != head.nr_pages || head.nr_pages == 0)
    payload.damaged("{} pages in its runs, {} pages in its head", chunk.nr_pages, head.nr_pages);
  mention_owner(staging, payload, head.kind);
  const auto tags = tail.subspan(runs);
  chunk.tags.assign(tags.begin(), tags.end());
  staging.tags.push_back(std::move(chunk));
}

PageChunk parse_page_chunk(Staging& staging, const Payload& payload) {
  const auto head = payload.fixed<cryo_pages>();
  PageChunk chunk;
  chunk.kind = head.kind;
  chunk.object = id_of(payload);
  chunk.runs = payload.records<cryo_page_run>(head.nr_runs, head.record_size);
  chunk.nr_pages = check_runs(staging, payload, chunk.runs, CRYO_PAGES_MAX);
  if (chunk.nr_pages != head.nr_pages || head.nr_pages == 0)
    payload.damaged("{} pages in its runs, {} pages in its head", chunk.nr_pages, head.nr_pages);
  mention_owner(staging, payload, head.kind);
  return chunk;
}

void check_excluded(const Staging& staging, const Mm& mm) {
  for (const cryo_excluded& range : mm.excluded) {
    const bool inside = std::any_of(mm.vmas.begin(), mm.vmas.end(), [&](const cryo_vma& vma) {
      return vma.kind == CRYO_VMA_ANON && vma.start <= range.start && range.end <= vma.end;
    });
    if (!inside)
      inconsistent(staging, "memory {}: {:#x}-{:#x} is excluded, but is not private anonymous memory", mm.id,
                   range.start, range.end);
  }
}

// Both ascend.
void check_guards(const Staging& staging, const Mm& mm) {
  auto vma = mm.vmas.begin();
  for (const cryo_page_run& run : mm.guards) {
    const std::uint64_t end = run.start + run.nr_pages * staging.scanner.header().page_size;
    while (vma != mm.vmas.end() && vma->end <= run.start) ++vma;
    if (vma == mm.vmas.end() || run.start < vma->start || end > vma->end || vma->kind > CRYO_VMA_SYSV ||
        vma->kind == CRYO_VMA_VDSO || vma->kind == CRYO_VMA_VVAR)
      inconsistent(staging, "memory {}: the guard pages at {:#x}-{:#x} are in no area that may have them",
                   mm.id, run.start, end);
  }
}

// Both ascend.
void check_aio(const Staging& staging, const Mm& mm) {
  auto aio = mm.aio.begin();
  for (const cryo_vma& vma : mm.vmas) {
    if (vma.kind != CRYO_VMA_AIO) continue;
    if (aio == mm.aio.end() || aio->head.start != vma.start || aio->head.size != vma.end - vma.start)
      inconsistent(staging, "memory {}: the ring at {:#x}-{:#x} has no AIO section", mm.id, vma.start,
                   vma.end);
    ++aio;
  }
  if (aio != mm.aio.end())
    inconsistent(staging, "memory {}: the asynchronous I/O context {:#x} has no ring", mm.id,
                 aio->head.start);
}

const FileKindModel kHugetlbModel = {
    .kind = CRYO_FILE_HUGETLB, .name = "hugetlb", .check = [](const FileInContext& in) {
      require_contents(in);
      in.require(in.inode->huge_size != 0, "HUGETLB");
    }};

}  // namespace cryo
