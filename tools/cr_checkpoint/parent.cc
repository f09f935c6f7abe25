// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/parent.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "base/error.h"
#include "base/parallel.h"
#include "context/checksum.h"
#include "context/find_context.h"
#include "context/hash.h"
#include "context/reader.h"

namespace cryo {

Source open_parent(const std::string& path) {
  FoundContext found = open_regular_context(path);
  if (!found.place && found.error == ESTALE) fail(EINVAL, "parent {}: is not a regular file", path);
  if (!found.place) fail(found.error, "parent {}: {}", path, found.why);
  return Source::from_fd(std::move(found.place), path);
}

namespace {

std::string real_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) fail(error.value(), "{}: {}", path, error.message());
  return real.string();
}

ParentFile file_of(const std::string& path, const Hash& id, std::uint64_t length) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) fail_errno("{}", path);
  return {real_path(path), id, length, status.st_dev, status.st_ino, status.st_ino, changed_ns(status)};
}

// What the parent says of it holds, unless it has been touched since: then its pages are compared
// (Parent::verify()).
ParentFile file_of(const std::string& path, const Ancestor& ancestor, const Source& source) {
  Hash id;
  std::memcpy(id.data(), std::begin(ancestor.head.id), id.size());
  ParentFile file = file_of(path, id, ancestor.head.length);
  if (is_untouched(ancestor, source)) {
    file.inode = ancestor.head.inode;
    file.changed_ns = ancestor.head.changed_ns;
  }
  return file;
}

// Adds the pages of one context to a table.
class Loader {
 public:
  Loader(const Context& context, const Chain& chain, PageTable& table)
      : context_(context),
        chain_(chain),
        source_(chain.own()),
        table_(table),
        page_(context.header.page_size) {
    for (const Process& process : context.processes) owners_.add_process(process.head);
    for (const auto& [id, inode] : context.inodes) owners_.add_inode(id, inode.head);
  }

  void load() {
    chain_.verify_sections(context_);
    std::vector<std::vector<Hash>> hashes(context_.pages.size());
    for_each_in_parallel(hashes.size(), [&](std::size_t i) { hashes[i] = hashes_of_any(context_.pages[i]); });
    for (std::size_t i = 0; i < hashes.size(); ++i) add(context_.pages[i], hashes[i]);
    table_.finish();
  }

 private:
  [[nodiscard]] std::vector<Hash> hashes_of_any(const PageChunk& chunk) const {
    if (chunk.ancestor == 0) return hashes_of_own(chunk);
    return chunk.hashes.empty() ? hashes_of(chunk) : chunk.hashes;
  }

  // The bytes are read once, for the checksum and for the hashes.
  [[nodiscard]] std::vector<Hash> hashes_of_own(const PageChunk& chunk) const {
    Bytes bytes(chunk.bytes);
    source_.read(chunk.data_offset, bytes);
    if (!chunk.copy && checksum(bytes, chunk.section_flags) != chunk.checksum)
      fail(EBADMSG, "{}: byte {}: PAGE_DATA: wrong checksum", source_.name(), chunk.data_offset);
    return hashes_of(bytes);
  }

  [[nodiscard]] std::vector<Hash> hashes_of(std::span<const std::byte> bytes) const {
    std::vector<Hash> hashes;
    for (std::size_t at = 0; at < bytes.size(); at += page_)
      hashes.push_back(hash_of(bytes.subspan(at, page_)));
    return hashes;
  }

  // Of pages that an ancestor has, as sure as its checksums are.
  [[nodiscard]] std::vector<Hash> hashes_of(const PageChunk& chunk) const {
    std::vector<Hash> hashes;
    Bytes page(page_);
    for (std::uint64_t at = 0; at < chunk.bytes; at += page_) {
      chain_.of(chunk).read(chunk.data_offset + at, page);
      hashes.push_back(hash_of(page));
    }
    return hashes;
  }

  void add(const PageChunk& chunk, const std::vector<Hash>& hashes) {
    const PageOwner owner = owners_.of(chunk.kind, chunk.object);
    std::size_t next = 0;
    for (const cryo_page_run& run : chunk.runs)
      for (std::uint64_t i = 0; i < run.nr_pages; ++i, ++next)
        table_.add(owner, run.start + i * page_, hashes[next],
                   {chunk.ancestor, chunk.data_offset + next * page_});
  }

  const Context& context_;
  const Chain& chain_;
  const Source& source_;
  PageTable& table_;
  std::uint64_t page_;
  PageOwners owners_;
};

// Where names can be relative to; empty: nowhere.
std::string directory_of(const Options& options) {
  const auto* file = std::get_if<DestinationFile>(&options.destination);
  if (file == nullptr) return {};
  struct stat status {};
  if (::stat(file->path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return {};
  const std::filesystem::path directory = std::filesystem::path(file->path).parent_path();
  return real_path(directory.empty() ? "." : directory.string());
}

bool stat_destination(const Options& options, struct stat& status) {
  if (const auto* file = std::get_if<DestinationFile>(&options.destination))
    return ::lstat(file->path.c_str(), &status) == 0;
  return ::fstat(std::get<DestinationFd>(options.destination).fd, &status) == 0;
}

void refuse_itself(const Parent& parent, const Options& options) {
  struct stat status {};
  if (!stat_destination(options, status)) return;
  for (const ParentFile& file : parent.files())
    if (file.dev == status.st_dev && file.ino == status.st_ino)
      fail(EINVAL, "the new context would take the place of {}, which it needs", file.path);
}

}  // namespace

Parent::Opened::Opened(const std::string& path)
    : source(open_parent(path)),
      context(read_context(source, {.verify_pages = false})),
      chain(context, source, {path, {}}),
      map(context) {}

Parent::Parent(const std::string& path) : opened_(std::make_unique<Opened>(path)) {
  const Context& context = opened_->context;
  const AncestorPlace place{path, {}};
  page_size_ = context.header.page_size;
  files_.push_back(file_of(path, identity_of(opened_->source), opened_->source.size()));
  for (std::uint32_t i = 1; i <= context.ancestors.size(); ++i) {
    const Ancestor& ancestor = context.ancestors[i - 1];
    files_.push_back(file_of(ancestor_path(ancestor, place), ancestor, opened_->chain.numbered(i)));
  }
}

void Parent::verify(bool pages) const {
  const Context& context = opened_->context;
  for (std::uint32_t i = 1; i <= context.ancestors.size(); ++i)
    if (const Source& ancestor = opened_->chain.numbered(i);
        !is_untouched(context.ancestors[i - 1], ancestor))
      verify_ancestor(context, i, ancestor);
  if (pages) verify_pages(opened_->source, context.pages);
}

void Parent::check_still_there() const {
  for (const ParentFile& file : files_) {
    struct stat now {};
    if (::stat(file.path.c_str(), &now) != 0)
      fail_errno("{}, which the new context needs, has gone while that was written", file.path);
    if (now.st_dev != file.dev || now.st_ino != file.ino)
      fail(ESTALE, "{}, which the new context needs, was replaced while that was written", file.path);
  }
}

void Parent::load() const {
  std::call_once(opened_->loaded,
                 [this] { Loader(opened_->context, opened_->chain, opened_->table).load(); });
}

void Parent::read(std::uint32_t file, std::uint64_t offset, std::span<std::byte> to) const {
  opened_->chain.numbered(file).read(offset, to);
}

std::vector<Ancestor> names_for(const Parent& parent, const Options& options) {
  refuse_itself(parent, options);
  const std::string directory = directory_of(options);
  std::vector<Ancestor> names;
  for (const ParentFile& file : parent.files()) {
    Ancestor ancestor;
    std::copy(file.id.begin(), file.id.end(), reinterpret_cast<std::byte*>(std::begin(ancestor.head.id)));
    ancestor.head.length = file.length;
    ancestor.head.inode = file.inode;
    ancestor.head.changed_ns = file.changed_ns;
    ancestor.name = directory.empty()
                        ? file.path
                        : std::filesystem::path(file.path).lexically_relative(directory).string();
    if (ancestor.name.size() > CRYO_ANCESTOR_NAME_MAX) fail(ENAMETOOLONG, "{}", file.path);
    ancestor.head.name_len = static_cast<std::uint32_t>(ancestor.name.size());
    names.push_back(std::move(ancestor));
  }
  return names;
}

}  // namespace cryo
