// SPDX-License-Identifier: GPL-2.0-only
#include "context/reader.h"

#include <algorithm>
#include <iterator>

#include "base/parallel.h"
#include "context/schema.h"
#include "context/section.h"
#include "context/staging.h"

namespace cryo {
namespace {

using ParseFunction = void (*)(Staging&, const Payload&);

struct Parser {
  std::uint16_t type;
  ParseFunction parse;
};

// What is not here is handled by Reader itself, or unknown.
constexpr Parser kParsers[] = {
#define CRYO_SECTION(type, name) {CRYO_SEC_##type, parse_##name},
#include "schema/sections.inc"
#undef CRYO_SECTION
};

// Of the structure, also inside of those in it: what this version knows no meaning of.
void check_reserved(const Payload& payload, const SchemaStruct& structure, std::span<const std::byte> bytes) {
  for (const SchemaField& field : structure.fields) {
    if (field.offset >= bytes.size()) return;
    const auto own = bytes.subspan(field.offset, std::min(field.size, bytes.size() - field.offset));
    if (field.structure != nullptr) check_reserved(payload, *field.structure, own);
    if (field.kind != SchemaKind::kReserved) continue;
    if (std::any_of(own.begin(), own.end(), [](std::byte byte) { return byte != std::byte{0}; }))
      payload.damaged("{} is not zero", field.name);
  }
}

ParseFunction parser_for(std::uint16_t type) {
  const auto it = std::find_if(std::begin(kParsers), std::end(kParsers),
                               [type](const Parser& parser) { return parser.type == type; });
  return it == std::end(kParsers) ? nullptr : it->parse;
}

class Reader {
 public:
  Reader(const Source& source, const ReadOptions& options)
      : options_(options), scanner_(source, options_), staging_(scanner_, options_) {}

  Context read() {
    check_features();
    const Section first = scanner_.next();
    if (first.head.type != CRYO_SEC_SYSTEM) scanner_.damaged(first, "is the first section instead of SYSTEM");
    take(first);
    Section section = scanner_.next();
    for (; section.head.type != CRYO_SEC_INDEX; section = scanner_.next()) take(section);
    take_index(section);
    take_end(scanner_.next());

    if (options_.verify_pages && options_.check_crcs) verify_pages(scanner_.source(), staging_.pages);
    Context context = assemble(staging_);
    context.index = std::move(index_);
    context.end = end_;
    context.pages_verified = options_.verify_pages && options_.check_crcs;
    return context;
  }

 private:
  void check_features() {
    const std::uint64_t unknown = scanner_.header().ro_compat & ~CRYO_RO_COMPAT_KNOWN;
    if (unknown != 0) staging_.obstacle(fmt::format("unknown features {:#x} (ro_compat)", unknown));
  }

  void take(const Section& section) {
    remember(section);
    const std::uint16_t type = section.head.type;
    if (type == CRYO_SEC_PAGES)  // most of them
      take_pages(section);
    else if (const ParseFunction parse = parser_for(type))
      take_known(parse, Payload(scanner_, section));
    else if (type == CRYO_SEC_PAGE_DATA)
      scanner_.damaged(section, "no PAGES section before it");
    else if (type == CRYO_SEC_END)
      scanner_.damaged(section, "no INDEX section before it");
    else
      take_unknown(section);
  }

  void take_known(ParseFunction parse, const Payload& payload) {
    const Section& section = payload.section();
    const SchemaSection* const known = schema_section(section.head.type);
    if (known != nullptr && known->structure != nullptr && !scanner_.newer_minor())
      check_reserved(payload, *known->structure, payload.all().first(section.head.fixed_len));
    parse(staging_, payload);
  }

  void take_pages(const Section& section) {
    PageChunk chunk = parse_page_chunk(staging_, Payload(scanner_, section));
    chunk.bytes = chunk.nr_pages * scanner_.header().page_size;
    const Section data = scanner_.next();
    remember(data);
    if (data.head.type != CRYO_SEC_PAGE_DATA) scanner_.damaged(data, "instead of PAGE_DATA after PAGES");
    if (data.head.object != chunk.object)
      scanner_.damaged(data, "its object {} is not that of its PAGES, {}", data.head.object, chunk.object);
    if (data.head.length != chunk.bytes || data.head.fixed_len != 0)
      scanner_.damaged(data, "{} bytes instead of {}", data.head.length, chunk.bytes);
    chunk.data_offset = data.payload;
    chunk.padding = data.head.pad;
    chunk.checksum = data.head.crc;
    chunk.section_flags = data.head.flags;
    page_bytes_ += chunk.bytes;
    staging_.own_chunks.emplace_back(chunk.data_offset, chunk.bytes);
    staging_.pages.push_back(std::move(chunk));
  }

  void take_unknown(const Section& section) {
    scanner_.check_payload(section);
    if (section.head.flags & CRYO_SECF_REQUIRED)
      staging_.obstacle(section, "needed for a restart, and unknown to this version");
  }

  // Each entry is a section that was found, INDEX itself included; not each section needs an entry.
  void take_index(const Section& section) {
    remember(section);
    const Payload payload(scanner_, section);
    index_ = payload.array<cryo_index_entry>();
    index_offset_ = section.offset;
    auto at = found_.begin();
    for (const cryo_index_entry& entry : index_) {
      while (at != found_.end() && at->offset < entry.offset) ++at;
      if (at == found_.end() || at->offset != entry.offset || at->type != entry.type ||
          at->object != entry.object)
        payload.damaged("no {} with object {} is at byte {}", section_name(entry.type), entry.object,
                        entry.offset);
      ++at;
    }
  }

  void take_end(const Section& section) {
    if (section.head.type != CRYO_SEC_END) scanner_.damaged(section, "is after INDEX instead of END");
    const Payload payload(scanner_, section);
    end_ = payload.fixed<cryo_end>();
    if (!payload.tail().empty() && !scanner_.newer_minor()) payload.damaged("it has a tail");
    if (end_.total_len != section.end())
      payload.damaged("it says {} bytes, and ends at byte {}", end_.total_len, section.end());
    if (end_.index_offset != index_offset_)
      payload.damaged("it says that INDEX is at byte {}, which is at {}", end_.index_offset, index_offset_);
    if (end_.sections != scanner_.count())
      payload.damaged("it says {} sections, {} are there", end_.sections, scanner_.count());
    if (end_.page_bytes != page_bytes_)
      payload.damaged("it says {} bytes of pages, {} are there", end_.page_bytes, page_bytes_);
    const std::uint64_t size = scanner_.source().size();
    if (size != section.end()) payload.damaged("{} bytes follow the end mark", size - section.end());
  }

  void remember(const Section& section) {
    found_.push_back({section.offset, section.head.type, section.head.object});
  }

  ReadOptions options_;
  SectionScanner scanner_;
  Staging staging_;
  std::vector<cryo_index_entry> found_;
  std::vector<cryo_index_entry> index_;
  std::uint64_t index_offset_ = 0;
  std::uint64_t page_bytes_ = 0;
  cryo_end end_{};
};

}  // namespace

Context read_context(const Source& source, const ReadOptions& options) {
  return Reader(source, options).read();
}

void verify_pages(const Source& source, const PageChunk& chunk) {
  if (chunk.copy || chunk.ancestor != 0) return;  // another chunk's are its; see Chain
  if (!has_zeros(source, chunk.data_offset - chunk.padding, chunk.padding))
    fail(EBADMSG, "{}: byte {}: PAGE_DATA: the padding before its payload is not zero", source.name(),
         chunk.data_offset - chunk.padding);
  if (checksum_of(source, chunk.data_offset, chunk.bytes, chunk.section_flags) != chunk.checksum)
    fail(EBADMSG, "{}: byte {}: PAGE_DATA: wrong checksum", source.name(), chunk.data_offset);
}

void verify_pages(const Source& source, const std::vector<PageChunk>& chunks, const ChunkSet& left_out) {
  for_each_in_parallel(chunks.size(), [&](std::size_t i) {
    if (left_out.empty() || !left_out[i]) verify_pages(source, chunks[i]);
  });
}

}  // namespace cryo
