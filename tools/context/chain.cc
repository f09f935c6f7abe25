// SPDX-License-Identifier: GPL-2.0-only
#include "context/chain.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>

#include "base/error.h"
#include "base/parallel.h"
#include "context/find_context.h"
#include "context/hash.h"
#include "context/section.h"

namespace cryo {
namespace {

constexpr std::size_t kReadSize = 1 << 20;

std::string last_part(const std::string& name) {
  return name.substr(name.rfind('/') + 1);
}

struct Free {
  void operator()(char* text) const { std::free(text); }
};

// With a name that is a symbolic link, the directory is that of what it leads to.
std::string directory_of_file(const std::string& path) {
  const std::unique_ptr<char, Free> real(::realpath(path.c_str(), nullptr));
  if (!real) fail_errno("{}", path);
  std::string directory(real.get());
  return directory.substr(0, directory.rfind('/') + 1);
}

// A context may name any file.
UniqueFd open_named(const std::string& path, const std::string& context) {
  FoundContext found = open_regular_context(path);
  if (!found.place && found.error == ESTALE)
    fail(EBADMSG, "{} needs the context {}, which is not a regular file", context, path);
  if (!found.place)
    fail(found.error, "{} needs the context {}, which cannot be opened: {}", context, path, found.why);
  return std::move(found.place);
}

}  // namespace

std::string ancestor_path(const Ancestor& ancestor, const AncestorPlace& place) {
  if (!place.directory.empty()) return place.directory + "/" + last_part(ancestor.name);
  if (ancestor.name.starts_with('/')) return ancestor.name;
  if (place.context.empty())
    fail(ENOENT,
         "the context needs {}, but was not read from a directory that could contain it: see --ancestors",
         ancestor.name);
  return directory_of_file(place.context) + ancestor.name;
}

Source open_ancestor(const Ancestor& ancestor, const AncestorPlace& place, const std::string& context) {
  const std::string path = ancestor_path(ancestor, place);
  UniqueFd fd = open_named(path, context);
  try {
    Source source = Source::from_fd(std::move(fd), path);
    const Hash id = identity_of(source);
    if (source.size() == ancestor.head.length &&
        std::memcmp(id.data(), std::begin(ancestor.head.id), id.size()) == 0)
      return source;
  } catch (const Error& error) {
    if (error.code() != EBADMSG) throw;
    fail(EBADMSG, "{} needs the context {}, which is damaged: {}", context, path, error.what());
  }
  fail(EBADMSG, "{} needs the context {}, but another context has that name now", context, path);
}

namespace {

void verify_hashes(const PageChunk& chunk, const Source& ancestor, const std::string& context) {
  const std::size_t page = chunk.bytes / chunk.nr_pages;
  Bytes block(std::min<std::size_t>(chunk.bytes, std::max(kReadSize, page)));
  std::size_t next = 0;
  for (std::uint64_t at = 0; at < chunk.bytes;) {
    const auto part = std::span(block).first(std::min<std::uint64_t>(block.size(), chunk.bytes - at));
    ancestor.read(chunk.data_offset + at, part);
    for (std::size_t i = 0; i < part.size(); i += page)
      if (hash_of(part.subspan(i, page)) != chunk.hashes[next++])
        fail(EBADMSG, "{} needs the context {}, which has been modified: the page at byte {} differs",
             context, ancestor.name(), chunk.data_offset + at + i);
    at += part.size();
  }
}

// Bytes of an ancestor, from one to before the other.
using Range = std::pair<std::uint64_t, std::uint64_t>;

bool is_left_out(const ChunkSet& left_out, std::size_t chunk) {
  return !left_out.empty() && left_out[chunk];
}

// Ascending, without those that are inside of others.
std::vector<Range> ranges_without_hashes(const Context& context, std::uint32_t number,
                                         const ChunkSet& left_out) {
  std::vector<Range> all, joined;
  for (std::size_t i = 0; i < context.pages.size(); ++i) {
    const PageChunk& chunk = context.pages[i];
    if (chunk.ancestor == number && chunk.hashes.empty() && !is_left_out(left_out, i))
      all.emplace_back(chunk.data_offset, chunk.data_offset + chunk.bytes);
  }
  std::sort(all.begin(), all.end());
  for (const Range& range : all)
    if (!joined.empty() && range.first <= joined.back().second)
      joined.back().second = std::max(joined.back().second, range.second);
    else
      joined.push_back(range);
  return joined;
}

[[noreturn]] void altered(const std::string& context, const Source& ancestor, std::uint64_t from,
                          std::uint64_t to) {
  fail(
      EBADMSG,
      "{} needs the context {}, which has been modified: the pages at bytes {} to {}, or those next to them, "
      "differ",
      context, ancestor.name(), from, to);
}

// The headers of its sections are part of its identity, which has been compared. Pages of one section are not
// next to those of another: no range is in two.
void verify_ancestor_sections(const Context& context, std::uint32_t number, const Source& ancestor,
                              const ChunkSet& left_out = {}) {
  std::vector<std::pair<PageData, Range>> sections;  // with the first range that is in it
  const std::vector<Range> ranges = ranges_without_hashes(context, number, left_out);
  const std::vector<PageData> all = ranges.empty() ? std::vector<PageData>() : page_data_of(ancestor);
  auto data = all.begin();
  for (const Range& range : ranges) {
    while (data != all.end() && data->offset + data->length <= range.first) ++data;
    if (data == all.end() || range.first < data->offset || range.second > data->offset + data->length)
      altered(context.name, ancestor, range.first, range.second);
    if (sections.empty() || sections.back().first.offset != data->offset) sections.emplace_back(*data, range);
  }
  for_each_in_parallel(sections.size(), [&](std::size_t i) {
    const auto& [section, range] = sections[i];
    if (checksum_of(ancestor, section.offset, section.length, section.section_flags) != section.checksum)
      altered(context.name, ancestor, range.first, range.second);
  });
}

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kClockStep = 20'000'000;  // ns; 10 ms is the longest, with HZ=100

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * kSecond + time.tv_nsec;
}

}  // namespace

std::uint64_t changed_ns(const struct stat& status) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t changed = nanoseconds(status.st_ctim);
  return changed <= 0 || nanoseconds(now) - changed < kClockStep ? 0 : static_cast<std::uint64_t>(changed);
}

bool is_untouched(const Ancestor& ancestor, const Source& source) {
  struct stat status {};
  if (ancestor.head.changed_ns == 0 || source.spooled() || ::fstat(source.fd(), &status) != 0) return false;
  return status.st_ino == ancestor.head.inode && changed_ns(status) == ancestor.head.changed_ns;
}

std::vector<PageData> page_data_of(const Source& source) {
  std::vector<PageData> result;
  SectionScanner scanner(source, {});
  for (Section section = scanner.next(); section.head.type != CRYO_SEC_END; section = scanner.next())
    if (section.head.type == CRYO_SEC_PAGE_DATA)
      result.push_back({section.payload, section.head.length, section.head.crc, section.head.flags});
  return result;
}

void verify_ancestor(const Context& context, std::uint32_t number, const Source& ancestor,
                     const ChunkSet& left_out) {
  for_each_in_parallel(context.pages.size(), [&](std::size_t i) {
    const PageChunk& chunk = context.pages[i];
    if (chunk.ancestor == number && !chunk.hashes.empty() && !is_left_out(left_out, i))
      verify_hashes(chunk, ancestor, context.name);
  });
  verify_ancestor_sections(context, number, ancestor, left_out);
}

Chain::Chain(const Context& context, const Source& own, const AncestorPlace& place) : own_(own) {
  for (const Ancestor& ancestor : context.ancestors)
    ancestors_.push_back(open_ancestor(ancestor, place, context.name));
}

std::vector<int> Chain::descriptors() const {
  std::vector<int> all{own_.fd()};
  for (const Source& ancestor : ancestors_) all.push_back(ancestor.fd());
  return all;
}

void Chain::verify(const Context& context, const ChunkSet& left_out) const {
  for (std::uint32_t i = 1; i <= ancestors_.size(); ++i) verify_ancestor(context, i, numbered(i), left_out);
}

void Chain::verify_sections(const Context& context) const {
  for (std::uint32_t i = 1; i <= ancestors_.size(); ++i) verify_ancestor_sections(context, i, numbered(i));
}

}  // namespace cryo
