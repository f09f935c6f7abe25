// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/delta.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "context/hash.h"
#include "context/payload.h"
#include "context/reader.h"

namespace cryo {
namespace {

constexpr std::uint32_t kMaxHeader = 4096;
constexpr std::uint64_t kMaxPayload = 1ULL << 30;

void append(Bytes& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

Delta::Delta(const Parent& parent, const std::vector<Ancestor>& files, Input input, ContextWriter::Sink sink)
    : parent_(parent),
      files_(files),
      page_(parent.page_size()),
      input_(std::move(input)),
      sink_(std::move(sink)),
      old_(page_) {}

void Delta::run() {
  begin();
  while (take_section()) {
  }
  std::byte more;
  if (input_(std::span(&more, 1)) != 0) fail(EBADMSG, "the module wrote more than a context");
}

void Delta::read_exactly(std::span<std::byte> to) {
  position_ += to.size();
  while (!to.empty()) {
    const std::size_t got = input_(to);
    if (got == 0) fail(EBADMSG, "the module's context ends before its byte {}", position_);
    to = to.subspan(got);
  }
}

Bytes Delta::read_bytes(std::uint64_t length) {
  if (length > kMaxPayload) fail(EBADMSG, "a section of {} bytes", length);
  Bytes bytes(length);
  read_exactly(bytes);
  return bytes;
}

void Delta::begin() {
  cryo_file_header header{};
  Bytes bytes = read_bytes(sizeof(header));
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.magic, CRYO_MAGIC, CRYO_MAGIC_LEN) != 0 || header.header_len < sizeof(header) ||
      header.header_len > kMaxHeader)
    fail(EBADMSG, "what the module writes is not a context");
  if (header.page_size != page_)
    fail(EINVAL, "the parent has pages of {} bytes, this machine of {}", page_, header.page_size);
  append(bytes, read_bytes(header.header_len - sizeof(header)));
  writer_.emplace(sink_, bytes, header.page_size);
}

cryo_section Delta::read_section() {
  cryo_section head{};
  const std::uint64_t at = position_;
  read_exactly(std::as_writable_bytes(std::span(&head, 1)));
  const auto covered = std::as_bytes(std::span(&head, 1)).first(offsetof(cryo_section, header_crc));
  if (head.magic != CRYO_SECTION_MAGIC || crc32c(covered) != head.header_crc || head.pad >= page_ ||
      head.fixed_len > head.length)
    fail(EBADMSG, "the module's context is damaged at byte {}", at);
  (void)read_bytes(head.pad);
  return head;
}

// False at the end.
bool Delta::take_section() {
  const cryo_section head = read_section();
  const Bytes payload = read_bytes(head.length);
  const auto fixed = std::span(payload).first(head.fixed_len);
  switch (head.type) {
    case CRYO_SEC_PAGES:
      take_pages(head, payload);
      return true;
    case CRYO_SEC_PAGE_COPIES:
      take_copies(head, payload);
      return true;
    case CRYO_SEC_PAGES_UNCHANGED:
      take_unchanged(head, payload);
      return true;
    case CRYO_SEC_INDEX:
      return true;
    case CRYO_SEC_END:
      flush_own();
      flush_elsewhere();
      put_ancestors();
      writer_->finish();
      return false;
    case CRYO_SEC_SYSTEM:
      copies_ = grown<cryo_system>(fixed).processes > 1;
      break;
    case CRYO_SEC_PROCESS:
      owners_.add_process(grown<cryo_process>(fixed));
      break;
    case CRYO_SEC_INODE:
      owners_.add_inode(head.object, grown<cryo_inode>(fixed));
      break;
    default:
      break;
  }
  writer_->copy(head, payload);
  return true;
}

void Delta::change_owner(std::uint32_t kind, std::uint32_t object) {
  if (kind == kind_ && object == object_) return;
  flush_own();
  flush_elsewhere();
  kind_ = kind;
  object_ = object;
  owner_ = owners_.of(kind, object);
}

void Delta::take_pages(const cryo_section& head, const Bytes& payload) {
  const auto pages = grown<cryo_pages>(std::span(payload).first(head.fixed_len));
  const auto tail = std::span(payload).subspan(head.fixed_len);
  if (pages.record_size < sizeof(cryo_page_run) ||
      std::uint64_t{pages.nr_runs} * pages.record_size != tail.size())
    fail(EBADMSG, "PAGES of the module's context is damaged");
  const cryo_section data_head = read_section();
  const std::uint64_t from = position_;
  const Bytes data = read_bytes(data_head.length);
  change_owner(pages.kind, head.object);
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < pages.nr_runs; ++i) {
    const auto run = grown<cryo_page_run>(tail.subspan(i * pages.record_size, pages.record_size));
    if (run.nr_pages > (data.size() - at) / page_)
      fail(EBADMSG, "PAGE_DATA of the module's context is too short");
    for (std::uint64_t page = 0; page < run.nr_pages; ++page, at += page_)
      take_page(run.start + page * page_, from + at, std::span(data).subspan(at, page_));
  }
  if (data_head.type != CRYO_SEC_PAGE_DATA || at != data.size())
    fail(EBADMSG, "PAGE_DATA of the module's context is damaged");
}

// What the module knows to be as in the parent. What that does not have is all zero, and in no context.
void Delta::take_unchanged(const cryo_section& head, const Bytes& payload) {
  const auto unchanged = grown<cryo_unchanged>(std::span(payload).first(head.fixed_len));
  const auto tail = std::span(payload).subspan(head.fixed_len);
  if (unchanged.record_size < sizeof(cryo_page_run) ||
      std::uint64_t{unchanged.nr_runs} * unchanged.record_size != tail.size())
    fail(EBADMSG, "PAGES_UNCHANGED of the module's context is damaged");
  change_owner(CRYO_PAGES_MM, head.object);
  known_mms_[head.object] = unchanged.parent;
  for (std::size_t i = 0; i < unchanged.nr_runs; ++i) {
    const auto run = grown<cryo_page_run>(tail.subspan(i * unchanged.record_size, unchanged.record_size));
    if (run.nr_pages > (~std::uint64_t{0} - run.start) / page_)
      fail(EBADMSG, "PAGES_UNCHANGED of the module's context is damaged");
    for (const PageStretch& stretch :
         parent_.map().find(unchanged.parent, run.start, run.start + run.nr_pages * page_))
      take_stretch(stretch);
  }
}

void Delta::take_stretch(const PageStretch& stretch) {
  if (const std::uint32_t ancestor = number_of(stretch.file)) {
    add_unhashed(stretch.start, ancestor, stretch.offset, (stretch.end - stretch.start) / page_);
    return;
  }
  for (std::uint64_t at = stretch.start; at < stretch.end; at += page_) {
    parent_.read(stretch.file, stretch.offset + (at - stretch.start), old_);
    add_own(at, 0, old_);
  }
}

// Of memory whose changes the module knows: is it as in the parent after all?
bool Delta::take_same(std::uint64_t address, std::uint64_t from, std::span<const std::byte> bytes) {
  const auto places = parent_.map().find(known_mms_.at(object_), address, address + page_);
  if (places.empty()) return false;
  const PageStretch& place = places.front();
  parent_.read(place.file, place.offset, old_);
  if (std::memcmp(old_.data(), bytes.data(), page_) != 0) return false;
  const std::uint32_t ancestor = number_of(place.file);
  if (ancestor == 0) return false;
  add_unhashed(address, ancestor, place.offset, 1);
  if (copies_) remember(moved_elsewhere_, {from, 1, place.offset, ancestor, kNoHash});
  return true;
}

void Delta::take_page(std::uint64_t address, std::uint64_t from, std::span<const std::byte> bytes) {
  if (kind_ == CRYO_PAGES_MM && known_mms_.contains(object_)) {
    if (!take_same(address, from, bytes)) add_own(address, from, bytes);
    return;
  }
  const Hash hash = hash_of(bytes);
  const PagePlace* place = parent_.table().find(owner_, address, hash);
  const std::uint32_t ancestor = place == nullptr ? 0 : number_of(place->file);
  if (ancestor == 0) {
    add_own(address, from, bytes);
    return;
  }
  add_elsewhere(address, ancestor, place->offset, hash);
  if (!copies_) return;
  remember(moved_elsewhere_, {from, 1, place->offset, ancestor, moved_hashes_.size()});
  moved_hashes_.push_back(hash);
}

void Delta::add_own(std::uint64_t address, std::uint64_t from, std::span<const std::byte> bytes) {
  const bool ascends = own_.runs.empty() || address >= own_.runs.back().start;
  if (!ascends || own_.from.size() == CRYO_PAGES_MAX) flush_own();
  add_to_runs(own_.runs, address, page_);
  append(own_.data, bytes);
  own_.from.push_back(from);
  ++own_pages_;
}

void Delta::add_elsewhere(std::uint64_t address, std::uint32_t ancestor, std::uint64_t offset,
                          const Hash& hash) {
  add_run(elsewhere_, {address, offset, 1, ancestor});
  elsewhere_.hashes.push_back(hash);
}

void Delta::add_unhashed(std::uint64_t address, std::uint32_t ancestor, std::uint64_t offset,
                         std::uint64_t pages) {
  while (pages != 0) {
    const std::uint64_t room = CRYO_ELSEWHERE_MAX - unhashed_.pages % CRYO_ELSEWHERE_MAX;
    const std::uint64_t part = std::min(pages, room);
    add_run(unhashed_, {address, offset, static_cast<std::uint32_t>(part), ancestor});
    address += part * page_;
    offset += part * page_;
    pages -= part;
  }
}

// With room for all of it, or for none of it.
void Delta::add_run(Elsewhere& to, cryo_elsewhere_run run) {
  const bool ascends = to.runs.empty() || run.start >= to.runs.back().start;
  if (!ascends || to.pages == CRYO_ELSEWHERE_MAX) flush(to);
  to.pages += run.nr_pages;
  elsewhere_pages_ += run.nr_pages;
  if (!to.runs.empty()) {
    cryo_elsewhere_run& last = to.runs.back();
    const std::uint64_t length = last.nr_pages * page_;
    if (last.ancestor == run.ancestor && last.start + length == run.start &&
        last.offset + length == run.offset) {
      last.nr_pages += run.nr_pages;
      return;
    }
  }
  to.runs.push_back(run);
}

// 0: no more can be named.
std::uint32_t Delta::number_of(std::uint32_t file) {
  const auto known = std::find(used_.begin(), used_.end(), file);
  if (known == used_.end()) {
    if (used_.size() == CRYO_ANCESTORS_MAX) return 0;
    used_.push_back(file);
    return static_cast<std::uint32_t>(used_.size());
  }
  return static_cast<std::uint32_t>(known - used_.begin()) + 1;
}

void Delta::remember(std::vector<Moved>& list, const Moved& page) const {
  if (!list.empty()) {
    Moved& last = list.back();
    const std::uint64_t length = last.nr_pages * page_;
    if (last.ancestor == page.ancestor && last.from + length == page.from &&
        last.offset + length == page.offset && (last.first_hash == kNoHash) == (page.first_hash == kNoHash)) {
      ++last.nr_pages;
      return;
    }
  }
  list.push_back(page);
}

const Delta::Moved* Delta::find(const std::vector<Moved>& list, std::uint64_t from) const {
  const auto after = std::upper_bound(list.begin(), list.end(), from,
                                      [](std::uint64_t at, const Moved& moved) { return at < moved.from; });
  if (after == list.begin()) return nullptr;
  const Moved& moved = *std::prev(after);
  return from - moved.from < moved.nr_pages * page_ ? &moved : nullptr;
}

void Delta::take_copies(const cryo_section& head, const Bytes& payload) {
  const auto array = grown<cryo_array>(std::span(payload).first(head.fixed_len));
  const auto tail = std::span(payload).subspan(head.fixed_len);
  if (array.record_size < sizeof(cryo_page_copy) ||
      std::uint64_t{array.count} * array.record_size != tail.size())
    fail(EBADMSG, "PAGE_COPIES of the module's context is damaged");
  change_owner(CRYO_PAGES_MM, head.object);
  std::vector<cryo_page_copy> copies;
  for (std::size_t i = 0; i < array.count; ++i) {
    const auto copy = grown<cryo_page_copy>(tail.subspan(i * array.record_size, array.record_size));
    if (copy.nr_pages > CRYO_PAGES_MAX) fail(EBADMSG, "PAGE_COPIES of the module's context is damaged");
    for (std::uint64_t page = 0; page < copy.nr_pages; ++page)
      take_copy(copy.start + page * page_, copy.offset + page * page_, copies);
  }
  if (!copies.empty()) writer_->put_copies(head.object, copies);
}

void Delta::take_copy(std::uint64_t address, std::uint64_t from, std::vector<cryo_page_copy>& copies) {
  if (const Moved* moved = find(moved_elsewhere_, from)) {
    const std::uint64_t skip = from - moved->from;
    if (moved->first_hash == kNoHash) {
      add_unhashed(address, moved->ancestor, moved->offset + skip, 1);
      return;
    }
    add_elsewhere(address, moved->ancestor, moved->offset + skip,
                  moved_hashes_[moved->first_hash + skip / page_]);
    return;
  }
  const Moved* moved = find(moved_own_, from);
  if (moved == nullptr) {
    flush_own();  // it may be among those
    moved = find(moved_own_, from);
  }
  if (moved == nullptr) fail(EBADMSG, "PAGE_COPIES of the module's context names byte {}, no page", from);
  add_to_copies(copies, address, moved->offset + (from - moved->from), page_);
}

void Delta::flush_own() {
  if (own_.runs.empty()) return;
  const std::uint64_t at = writer_->put_pages(kind_, object_, own_.runs, own_.data);
  if (copies_)
    for (std::size_t i = 0; i < own_.from.size(); ++i)
      remember(moved_own_, {own_.from[i], 1, at + i * page_, 0, 0});
  own_.runs.clear();
  own_.data.clear();
  own_.from.clear();
}

void Delta::flush_elsewhere() {
  flush(elsewhere_);
  flush(unhashed_);
}

void Delta::flush(Elsewhere& list) {
  if (list.runs.empty()) return;
  Bytes tail;
  append(tail, std::as_bytes(std::span(list.runs)));
  append(tail, std::as_bytes(std::span(list.hashes)));
  const cryo_pages head{kind_, static_cast<std::uint32_t>(list.runs.size()), sizeof(cryo_elsewhere_run),
                        static_cast<std::uint32_t>(list.pages)};
  writer_->put(CRYO_SEC_PAGES_ELSEWHERE, object_, head, tail);
  list = {};
}

void Delta::put_ancestors() {
  if (used_.empty()) return;
  Bytes tail;
  for (const std::uint32_t file : used_) {
    append(tail, std::as_bytes(std::span(&files_[file].head, 1)));
    append(tail, std::as_bytes(std::span(files_[file].name)));
  }
  const cryo_array head{static_cast<std::uint32_t>(used_.size()), sizeof(cryo_ancestor)};
  writer_->put(CRYO_SEC_ANCESTORS, 0, head, tail);
}

}  // namespace cryo
