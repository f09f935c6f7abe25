// SPDX-License-Identifier: GPL-2.0-only
// Sections about pages whose bytes are in other contexts.
#include <algorithm>
#include <cstring>

#include "context/staging.h"

namespace cryo {
namespace {

Ancestor parse_ancestor(const Payload& payload, std::span<const std::byte>& rest, std::uint32_t record_size) {
  if (record_size < sizeof(std::uint64_t) || rest.size() < record_size)
    payload.damaged("its records are cut");
  Ancestor ancestor;
  ancestor.head = grown<cryo_ancestor>(rest.first(record_size));
  rest = rest.subspan(record_size);
  const std::uint32_t length = ancestor.head.name_len;
  if (length == 0 || length > CRYO_ANCESTOR_NAME_MAX || length > rest.size())
    payload.damaged("a name of {} bytes", length);
  ancestor.name.assign(reinterpret_cast<const char*>(rest.data()), length);
  rest = rest.subspan(length);
  if (ancestor.name.find('\0') != std::string::npos) payload.damaged("a NUL byte is inside a name");
  return ancestor;
}

PageChunk elsewhere_chunk(const Staging& staging, const Payload& payload, const cryo_elsewhere_run& run) {
  const std::uint64_t page = staging.scanner.header().page_size;
  PageChunk chunk;
  chunk.object = payload.object();
  chunk.runs = {{run.start, run.nr_pages}};
  chunk.nr_pages = run.nr_pages;
  chunk.bytes = run.nr_pages * page;
  chunk.data_offset = run.offset;
  chunk.ancestor = run.ancestor;
  if (run.ancestor == 0) payload.damaged("{:#x} +{} pages are in no other context", run.start, run.nr_pages);
  if (run.offset % page != 0 || run.offset > ~0ULL - chunk.bytes)
    payload.damaged("{:#x} +{} pages: byte {} is not one of pages", run.start, run.nr_pages, run.offset);
  return chunk;
}

std::uint64_t bytes_of_runs(const cryo_pages& head) {
  return std::uint64_t{head.nr_runs} * head.record_size;
}

bool has_hashes(const Payload& payload, const cryo_pages& head) {
  return payload.tail().size() != bytes_of_runs(head);
}

// The tail: runs, then hashes, if there are any, which fill it.
std::vector<cryo_elsewhere_run> runs_of(const Payload& payload, const cryo_pages& head) {
  const auto tail = payload.tail();
  if (head.record_size < sizeof(cryo_elsewhere_run)) payload.damaged("records of {} bytes", head.record_size);
  const std::uint64_t runs = bytes_of_runs(head);
  if (has_hashes(payload, head) && runs + std::uint64_t{head.nr_pages} * CRYO_HASH_SIZE != tail.size())
    payload.damaged("{} runs of {} bytes and the hashes of {} pages do not fill its {} bytes", head.nr_runs,
                    head.record_size, head.nr_pages, tail.size());
  std::vector<cryo_elsewhere_run> result;
  result.reserve(head.nr_runs);
  for (std::uint64_t at = 0; at < runs; at += head.record_size)
    result.push_back(grown<cryo_elsewhere_run>(tail.subspan(at, head.record_size)));
  return result;
}

}  // namespace

void parse_ancestors(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const auto head = payload.fixed<cryo_array>();
  auto rest = payload.tail();
  if (head.count == 0 || head.count > CRYO_ANCESTORS_MAX)
    payload.damaged("{} contexts, where 1 to {} can be", head.count, CRYO_ANCESTORS_MAX);
  for (std::uint32_t i = 0; i < head.count; ++i)
    staging.ancestors.push_back(parse_ancestor(payload, rest, head.record_size));
  if (!rest.empty()) payload.damaged("{} bytes follow its records", rest.size());
}

void parse_pages_elsewhere(Staging& staging, const Payload& payload) {
  const auto head = payload.fixed<cryo_pages>();
  const std::vector<cryo_elsewhere_run> runs = runs_of(payload, head);
  std::vector<cryo_page_run> ranges;
  ranges.reserve(runs.size());
  for (const cryo_elsewhere_run& run : runs) ranges.push_back({run.start, run.nr_pages});
  const std::uint64_t pages = check_runs(staging, payload, ranges, CRYO_ELSEWHERE_MAX);
  if (pages != head.nr_pages || pages == 0)
    payload.damaged("{} pages in its runs, {} pages in its head", pages, head.nr_pages);
  mention_owner(staging, payload, head.kind);
  auto hashes = payload.tail().subspan(std::size_t{head.nr_runs} * head.record_size);
  for (const cryo_elsewhere_run& run : runs) {
    PageChunk chunk = elsewhere_chunk(staging, payload, run);
    chunk.kind = head.kind;
    if (has_hashes(payload, head)) {
      chunk.hashes.resize(run.nr_pages);
      std::memcpy(chunk.hashes.data(), hashes.data(), run.nr_pages * sizeof(Hash));
      hashes = hashes.subspan(run.nr_pages * sizeof(Hash));
    }
    staging.pages.push_back(std::move(chunk));
  }
}

void check_ancestors(const Staging& staging, const Context& context) {
  for (const PageChunk& chunk : context.pages) {
    if (chunk.ancestor == 0) continue;
    const auto inconsistent = [&](const std::string& text) {
      fail(EBADMSG, "{}: inconsistent: pages from {:#x} on are in {}", staging.scanner.source().name(),
           chunk.runs.front().start, text);
    };
    if (chunk.ancestor > context.ancestors.size())
      inconsistent(fmt::format("context {} of {}", chunk.ancestor, context.ancestors.size()));
    const Ancestor& ancestor = context.ancestors[chunk.ancestor - 1];
    if (chunk.data_offset > ancestor.head.length || chunk.bytes > ancestor.head.length - chunk.data_offset)
      inconsistent(fmt::format("{} at byte {}, which has {} bytes", ancestor.name, chunk.data_offset,
                               ancestor.head.length));
  }
}

}  // namespace cryo
