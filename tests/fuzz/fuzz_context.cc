// SPDX-License-Identifier: GPL-2.0-only
// libFuzzer target: whatever the bytes, the reader returns a context or throws Error, and what it
// returned can be shown.
//
// Checksums are not compared, or hardly any mutation would get past them.
#include <cryo/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <vector>

#include "base/error.h"
#include "context/reader.h"
#include "cr_info/report.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using namespace cryo;

// What every caller of read_context() may rely on: look-ups that throw would be a hole in its checks.
void use(const Context& context, const Source& source) {
  const auto json = report_json(context, source);
  if (json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).empty()) std::abort();
  if (sections_json(source, true).empty()) std::abort();
  for (const PageChunk& chunk : context.pages) {
    if (chunk.ancestor != 0) {
      if (chunk.ancestor > context.ancestors.size() || chunk.hashes.size() != chunk.nr_pages) std::abort();
      continue;
    }
    std::vector<std::byte> data(chunk.bytes);
    source.read(chunk.data_offset, data);
  }
  for (const Process& process : context.processes)
    if (process.threads.front().head.tid != process.head.pid || context.mm(process.head.mm).id == 0)
      std::abort();
}

// Payloads of the sections, as far as the headers can be followed.
std::vector<std::span<std::uint8_t>> payloads(std::span<std::uint8_t> bytes) {
  std::vector<std::span<std::uint8_t>> found;
  cryo_section head;
  std::size_t at = sizeof(cryo_file_header);
  while (at < bytes.size() && bytes.size() - at >= sizeof(head)) {
    std::memcpy(&head, &bytes[at], sizeof(head));
    const std::size_t left = bytes.size() - at - sizeof(head);
    if (head.pad > left || head.length > left - head.pad) break;
    found.push_back(bytes.subspan(at + sizeof(head) + head.pad, head.length));
    at += sizeof(head) + head.pad + head.length;
  }
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Source source = Source::from_memory(std::as_bytes(std::span(data, size)), "input");
  try {
    use(read_context(source, {.verify_pages = true, .show_only = true, .check_crcs = false}), source);
  } catch (const Error&) {
    return 0;
  }
  return 0;
}

// Half of the time, only inside one payload and without changing its length: the layout stays whole, and
// the checks behind it get their turn.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  std::minstd_rand random(seed);
  const auto sections = payloads({data, size});
  if (sections.empty() || random() % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const auto section = sections[random() % sections.size()];
  if (section.empty() || section.size() > 2048) return LLVMFuzzerMutate(data, size, max_size);
  std::vector<std::uint8_t> copy(section.begin(), section.end());
  const std::size_t length = LLVMFuzzerMutate(copy.data(), copy.size(), copy.size());
  std::copy_n(copy.begin(), length, section.begin());
  return size;
}
