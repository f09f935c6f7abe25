// SPDX-License-Identifier: GPL-2.0-only
#include "cr_merge/merge.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "context/hash.h"
#include "context/section.h"

namespace cryo {
namespace {

bool is_rewritten(std::uint16_t type) {
  constexpr std::uint16_t kTypes[] = {CRYO_SEC_PAGES,     CRYO_SEC_PAGE_DATA, CRYO_SEC_PAGE_COPIES,
                                      CRYO_SEC_ANCESTORS, CRYO_SEC_INDEX,     CRYO_SEC_PAGES_ELSEWHERE,
                                      CRYO_SEC_END};
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

class Merger {
 public:
  Merger(const Context& context, const Chain& chain, const ContextWriter::Sink& sink)
      : context_(context),
        chain_(chain),
        page_(context.header.page_size),
        writer_(sink, header_of(chain.own(), context), context.header.page_size) {}

  void run() {
    chain_.verify_sections(context_);
    copy_sections();
    for (const PageChunk& chunk : context_.pages) take(chunk);
    flush();
    writer_.finish();
  }

 private:
  static Bytes header_of(const Source& source, const Context& context) {
    Bytes header(context.header.header_len);
    source.read(0, header);
    return header;
  }

  void copy_sections();
  void take(const PageChunk& chunk);
  void take_own(const PageChunk& chunk);
  void take_copy(const PageChunk& chunk);
  void take_elsewhere(const PageChunk& chunk);
  void take_page(const PageChunk& chunk, std::uint64_t index, std::span<const std::byte> bytes);
  void flush();

  const Context& context_;
  const Chain& chain_;
  std::uint64_t page_;
  ContextWriter writer_;
  std::uint32_t kind_ = CRYO_PAGES_MM;
  std::uint32_t object_ = 0;
  // Not written yet, of one owner.
  std::vector<cryo_page_run> runs_;
  Bytes data_;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> from_;  // ancestor and offset of each page
  std::vector<cryo_page_copy> copies_;
  // Where what was at an offset is now: of this context's chunks, and of ancestors' pages.
  std::map<std::uint64_t, std::uint64_t> own_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> elsewhere_;
};

void Merger::copy_sections() {
  SectionScanner scanner(chain_.own(), {});
  Section section;
  do {
    section = scanner.next();
    if (!is_rewritten(section.head.type)) writer_.copy(section.head, scanner.payload(section));
  } while (section.head.type != CRYO_SEC_END);
}

void Merger::take(const PageChunk& chunk) {
  if (chunk.kind != kind_ || chunk.object != object_) {
    flush();
    kind_ = chunk.kind;
    object_ = chunk.object;
  }
  if (chunk.copy)
    take_copy(chunk);
  else if (chunk.ancestor == 0)
    take_own(chunk);
  else
    take_elsewhere(chunk);
}

void Merger::take_own(const PageChunk& chunk) {
  Bytes data(chunk.bytes);
  chain_.own().read(chunk.data_offset, data);
  own_[chunk.data_offset] = writer_.put_pages(chunk.kind, chunk.object, chunk.runs, data);
}

// The reader has seen to it that there is a chunk with the bytes before it.
void Merger::take_copy(const PageChunk& chunk) {
  const auto& [start, now] = *std::prev(own_.upper_bound(chunk.data_offset));
  copies_.push_back({chunk.runs.front().start, chunk.nr_pages, now + (chunk.data_offset - start)});
}

void Merger::take_elsewhere(const PageChunk& chunk) {
  const Source& source = chain_.of(chunk);
  for (std::uint64_t first = 0; first < chunk.nr_pages; first += CRYO_PAGES_MAX) {
    Bytes data(std::min<std::uint64_t>(CRYO_PAGES_MAX, chunk.nr_pages - first) * page_);
    source.read(chunk.data_offset + first * page_, data);
    for (std::uint64_t at = 0; at < data.size(); at += page_)
      take_page(chunk, first + at / page_, std::span(data).subspan(at, page_));
  }
}

// Memory that several processes have is written once.
void Merger::take_page(const PageChunk& chunk, std::uint64_t index, std::span<const std::byte> bytes) {
  const std::uint64_t offset = chunk.data_offset + index * page_;
  const std::uint64_t address = chunk.runs.front().start + index * page_;
  if (!chunk.hashes.empty() && hash_of(bytes) != chunk.hashes[index])
    fail(EBADMSG, "{} needs the context {}, which has been modified: the page at byte {} differs",
         context_.name, chain_.of(chunk).name(), offset);
  const auto known = elsewhere_.find({chunk.ancestor, offset});
  if (known != elsewhere_.end() && chunk.kind == CRYO_PAGES_MM) {
    add_to_copies(copies_, address, known->second, page_);
    return;
  }
  if (from_.size() == CRYO_PAGES_MAX || (!runs_.empty() && address < runs_.back().start)) flush();
  add_to_runs(runs_, address, page_);
  data_.insert(data_.end(), bytes.begin(), bytes.end());
  from_.emplace_back(chunk.ancestor, offset);
}

void Merger::flush() {
  if (!runs_.empty()) {
    const std::uint64_t at = writer_.put_pages(kind_, object_, runs_, data_);
    if (context_.processes.size() > 1)
      for (std::size_t i = 0; i < from_.size(); ++i) elsewhere_.emplace(from_[i], at + i * page_);
  }
  if (!copies_.empty()) writer_.put_copies(object_, copies_);
  runs_.clear();
  data_.clear();
  from_.clear();
  copies_.clear();
}

// Consecutive pages with consecutive bytes.
struct Piece {
  std::uint32_t kind;
  std::uint32_t object;
  std::uint64_t start;
  std::uint64_t bytes;
  const Source* source;
  std::uint64_t offset;
  [[nodiscard]] auto page() const { return std::tie(kind, object, start); }
  void drop(std::uint64_t length) {
    start += length;
    offset += length;
    bytes -= length;
  }
};

std::vector<Piece> pieces_of(const Context& context, const Chain& chain) {
  std::vector<Piece> pieces;
  for (const PageChunk& chunk : context.pages) {
    std::uint64_t offset = chunk.data_offset;
    for (const cryo_page_run& run : chunk.runs) {
      const std::uint64_t bytes = run.nr_pages * context.header.page_size;
      pieces.push_back({chunk.kind, chunk.object, run.start, bytes, &chain.of(chunk), offset});
      offset += bytes;
    }
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.page() < b.page(); });
  return pieces;
}

void compare_bytes(const Piece& a, const Piece& b, std::uint64_t length) {
  constexpr std::uint64_t kBlock = 1 << 20;
  Bytes first, second;
  for (std::uint64_t at = 0; at < length; at += first.size()) {
    first.resize(std::min(kBlock, length - at));
    second.resize(first.size());
    a.source->read(a.offset + at, first);
    b.source->read(b.offset + at, second);
    if (first != second)
      fail(EIO, "{}: the pages from {:#x} on are not what {} says", b.source->name(), b.start + at,
           a.source->name());
  }
}

}  // namespace

void merge(const Context& context, const Chain& chain, const ContextWriter::Sink& sink) {
  Merger(context, chain, sink).run();
}

void compare_pages(const Context& context, const Chain& chain, const Context& merged,
                   const Chain& merged_chain) {
  std::vector<Piece> all = pieces_of(context, chain);
  std::vector<Piece> others = pieces_of(merged, merged_chain);
  auto other = others.begin();
  for (Piece& piece : all)
    while (piece.bytes != 0) {
      if (other == others.end() || other->page() != piece.page())
        fail(EIO, "{}: the page {:#x} of {} is not there", merged.name, piece.start, context.name);
      const std::uint64_t length = std::min(piece.bytes, other->bytes);
      compare_bytes(piece, *other, length);
      piece.drop(length);
      other->drop(length);
      if (other->bytes == 0) ++other;
    }
  if (other != others.end())
    fail(EIO, "{}: the page {:#x} is not one of {}", merged.name, other->start, context.name);
}

}  // namespace cryo
