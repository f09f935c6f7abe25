// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files/fallback.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/termination.h"
#include "base/unique_fd.h"
#include "restart/files/files.h"
#include "restart/rights/identity.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

constexpr std::size_t kBlock = 1 << 16;

// Bytes of an inode that are one after the other in a context; what is between two of them is zero.
struct Extent {
  std::uint64_t start, size;
  int fd;
  std::uint64_t offset;
};

using Chunks = std::multimap<std::uint32_t, const PageChunk*>;

Chunks chunks_of_inodes(const Context& context) {
  Chunks chunks;
  for (const PageChunk& chunk : context.pages)
    if (chunk.kind == CRYO_PAGES_INODE) chunks.emplace(chunk.object, &chunk);
  return chunks;
}

std::vector<Extent> extents_of(const Chunks& chunks, const Inode& inode, std::uint64_t page_size,
                               const std::vector<int>& context_fds) {
  std::vector<Extent> extents;
  const auto [first, last] = chunks.equal_range(inode.id);
  for (auto it = first; it != last; ++it) {
    const PageChunk& chunk = *it->second;
    std::uint64_t offset = chunk.data_offset;
    for (const cryo_page_run& run : chunk.runs) {
      const std::uint64_t size = run.nr_pages * page_size;
      if (run.start < inode.head.size)
        extents.push_back({run.start, std::min<std::uint64_t>(size, inode.head.size - run.start),
                           context_fds[chunk.ancestor], offset});
      offset += size;
    }
  }
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return a.start < b.start; });
  return extents;
}

bool read_all(int fd, std::byte* to, std::size_t size, std::uint64_t offset) {
  while (size > 0) {
    const ssize_t got = ::pread(fd, to, size, static_cast<off_t>(offset));
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

// Has the file these bytes?  Without a descriptor they are zero.
bool has_bytes(int file, const Extent& extent) {
  std::vector<std::byte> now(kBlock), before(kBlock);
  for (std::uint64_t at = 0; at < extent.size;) {
    if (is_pending_termination()) fail(EINTR, "interrupted by a signal");
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(extent.size - at, kBlock));
    if (!read_all(file, now.data(), part, extent.start + at)) return false;
    if (extent.fd >= 0 && !read_all(extent.fd, before.data(), part, extent.offset + at)) return false;
    if (!std::equal(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(part), before.begin()))
      return false;
    at += part;
  }
  return true;
}

// Does it begin with all that it had?
bool has_contents(int file, const std::vector<Extent>& extents, std::uint64_t size) {
  std::uint64_t at = 0;
  for (const Extent& extent : extents) {
    if (!has_bytes(file, {at, extent.start - at, -1, 0}) || !has_bytes(file, extent)) return false;
    at = extent.start + extent.size;
  }
  return has_bytes(file, {at, size - at, -1, 0});
}

bool has_same_time(const cryo_inode& before, const struct stat& now) {
  return now.st_mtim.tv_sec == before.mtime_sec && now.st_mtim.tv_nsec == before.mtime_nsec;
}

class Settler {
 public:
  Settler(Context& context, const std::vector<int>& context_fds, const RestartOptions& options)
      : context_(context), context_fds_(context_fds), options_(options) {
    for (auto& [id, file] : context.files)
      if (file.head.kind == CRYO_FILE_PATH && file.head.mnt == 0 && file.redirected.empty())
        files_[file.head.inode].push_back(&file);
  }

  void settle(Inode& inode);

 private:
  [[nodiscard]] FileFound look_at(const Inode& inode, const File& file, const std::string& name) const;
  [[nodiscard]] FileFound look_for(const Inode& inode, File& file, const std::vector<File*>& all) const;
  [[nodiscard]] FileFound unread(const Inode& inode, const struct stat& now) const;
  [[nodiscard]] FileFound compare(const Inode& inode, const std::string& path, const struct stat& now) const;
  [[nodiscard]] bool is_very_file(const cryo_inode& inode, const std::string& path) const {
    return names::is_there(
        {path, O_PATH, inode.dev, inode.ino, inode.mode, inode.uid, context_.header.created_ns});
  }

  Context& context_;
  const std::vector<int>& context_fds_;
  const RestartOptions& options_;
  const std::map<std::uint32_t, FileUse> uses_ = file_uses(context_);
  const Chunks chunks_ = chunks_of_inodes(context_);
  std::map<std::uint32_t, std::vector<File*>> files_;  // by inode
};

// What has only grown is a log, whose rest the process waits for.
FileFound Settler::compare(const Inode& inode, const std::string& path, const struct stat& now) const {
  const auto size = static_cast<std::uint64_t>(now.st_size);
  if (size == inode.head.size && has_same_time(inode.head, now)) return FileFound::kSame;
  const UniqueFd fd = names::open_regular(path);
  struct stat opened;
  if (!fd || ::fstat(fd.get(), &opened) != 0) return FileFound::kUnreadable;
  const bool longer = size > inode.head.size;
  if (!S_ISREG(opened.st_mode) || size < inode.head.size ||
      (longer && identity_of(inode.head, fd.get()) != Identity::kSame) ||
      !has_contents(fd.get(), extents_of(chunks_, inode, context_.header.page_size, context_fds_),
                    inode.head.size))
    return FileFound::kChanged;
  return longer ? FileFound::kSame : FileFound::kSameContents;
}

// The process may have it all the same, and nobody can say what has been changed in it.
FileFound Settler::unread(const Inode& inode, const struct stat& now) const {
  const bool same =
      static_cast<std::uint64_t>(now.st_size) == inode.head.size && has_same_time(inode.head, now);
  return same || options_.changed_files ? FileFound::kSame : FileFound::kUnreadable;
}

FileFound Settler::look_at(const Inode& inode, const File& file, const std::string& name) const {
  const auto use = uses_.find(file.id);
  if (use == uses_.end()) return FileFound::kSame;
  const NamesToCheck theirs(context_, use->second.processes, file);
  const std::string path = options_.relocations.apply(name);
  struct stat now;
  if (names::stat(path, now) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return FileFound::kGone;
    if (errno != EACCES || !is_very_file(inode.head, path)) return FileFound::kUnreadable;
    const OwnNames own;
    return names::stat(path, now) == 0 ? unread(inode, now) : FileFound::kUnreadable;
  }
  if (!S_ISREG(now.st_mode)) return FileFound::kChanged;
  if (names::access(path, R_OK) != 0)
    return names::are_owner_of(path) || is_very_file(inode.head, path) ? unread(inode, now)
                                                                       : FileFound::kUnreadable;
  return compare(inode, path, now);
}

// A file that was open by several names (hard links) is there as long as one of them leads to it: others are
// opened by that.
FileFound Settler::look_for(const Inode& inode, File& file, const std::vector<File*>& all) const {
  const FileFound found = look_at(inode, file, file.path);
  if (found <= FileFound::kSameContents || options_.changed_files) return found;
  for (const File* other : all) {
    if (other->path == file.path) continue;
    const FileFound there = look_at(inode, file, other->path);
    if (there > FileFound::kSameContents) continue;
    file.path = other->path;
    return there;
  }
  return found;
}

void Settler::settle(Inode& inode) {
  const auto files = files_.find(inode.id);
  if (!(inode.head.flags & CRYO_INODE_FALLBACK) || files == files_.end()) return;
  for (File* file : files->second) inode.found = std::max(inode.found, look_for(inode, *file, files->second));
  if (inode.found <= FileFound::kSameContents) return;
  if (inode.found == FileFound::kChanged && options_.changed_files) {
    inode.found = FileFound::kSame;
    return;
  }
  inode.made_by_name = inode.found == FileFound::kGone && options_.restore_files;
  if (!inode.made_by_name) inode.head.flags |= CRYO_INODE_DELETED;
  for (File* file : files->second) file->head.kind = CRYO_FILE_CONTENTS;
}

}  // namespace

void settle_fallbacks(Context& context, const Source& source, const AncestorPlace& place,
                      const RestartOptions& options) {
  const auto is_fallback = [](const auto& entry) {
    return (entry.second.head.flags & CRYO_INODE_FALLBACK) != 0;
  };
  if (std::none_of(context.inodes.begin(), context.inodes.end(), is_fallback)) return;
  const Chain chain(context, source, place);
  const std::vector<int> context_fds = chain.descriptors();
  Settler settler(context, context_fds, options);
  for (auto& [id, inode] : context.inodes) settler.settle(inode);
}

}  // namespace cryo
