// SPDX-License-Identifier: GPL-2.0-only
#include "restart/check/check_room.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "restart/files/files.h"
#include "restart/ns/mounts.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

constexpr std::string_view kSuffixOfDeleted = " (deleted)";

// A file system, and what is going to be written there.
struct FileSystemNeeds {
  std::uint64_t bytes = 0, given_back = 0, free = 0;
  std::size_t files = 0;
  std::string largest;
  std::uint64_t largest_bytes = 0;
  bool may_take_less = false;
};

// Those that compress, share equal blocks, or say what somebody else likes.
bool may_take_less(long type) {
  constexpr long kBtrfs = 0x9123683e, kZfs = 0x2fc12fc1, kF2fs = 0xf2f52010, kBcachefs = 0xca451a4e,
                 kFuse = 0x65735546, kNfs = 0x6969, kOverlay = 0x794c7630, kLustre = 0x0bd00bd0,
                 kGpfs = 0x47504653, kCeph = 0x00c36400, kSmb = 0xfe534d42, kCifs = 0xff534d42,
                 k9p = 0x01021997;
  constexpr long kTypes[] = {kBtrfs,  kZfs,  kF2fs, kBcachefs, kFuse, kNfs, kOverlay,
                             kLustre, kGpfs, kCeph, kSmb,      kCifs, k9p};
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

// Of the path, or the first one above it that is there.
UniqueFd directory_above(std::string path) {
  UniqueFd fd;
  do {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return names::open(".", O_PATH | O_DIRECTORY);
    path.resize(std::max<std::size_t>(slash, 1));
    fd = names::open(path, O_PATH | O_DIRECTORY);
  } while (!fd && path.size() > 1);
  return fd;
}

class RoomChecker {
 public:
  RoomChecker(const Context& context, const RestartOptions& options, const Creds& own,
              const ContentsSizes& sizes, Findings& findings)
      : context_(context), options_(options), own_(own), sizes_(sizes), findings_(findings) {}

  [[nodiscard]] std::set<std::uint32_t> check();

 private:
  void add_file(const File& file, const FileUse& use);
  void add_at(const std::string& path, const Inode& inode, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t size_of(const File& file, const Inode& inode) const;
  [[nodiscard]] bool is_written(const File& file, const FileUse& use) const;
  void report(const FileSystemNeeds& place);

  const Context& context_;
  const RestartOptions& options_;
  const Creds& own_;
  const ContentsSizes& sizes_;
  Findings& findings_;
  std::map<dev_t, FileSystemNeeds> systems_;
  std::set<std::uint32_t> in_memory_;  // inodes
};

// A copy is made of a context that the job writes to.
bool RoomChecker::is_written(const File& file, const FileUse& use) const {
  if (!file.redirected.empty()) return false;
  const auto other = findings_.other_uses.find(file.head.inode);
  return file.head.kind == CRYO_FILE_CONTENTS || file.head.kind == CRYO_FILE_POSIX_SHM ||
         (file.head.kind == CRYO_FILE_PATH && other != findings_.other_uses.end() && other->second.context &&
          is_output(file, use));
}

std::uint64_t RoomChecker::size_of(const File& file, const Inode& inode) const {
  if (file.head.kind == CRYO_FILE_PATH) return inode.head.size;
  const auto found = sizes_.find(inode.id);
  return found == sizes_.end() || is_hidden_from_owner(context_, inode) ? 0 : found->second;
}

void RoomChecker::add_file(const File& file, const FileUse& use) {
  const Inode& inode = context_.inode(file.head.inode);
  const NamesToCheck theirs(context_, use.processes, file);
  const std::uint64_t bytes = size_of(file, inode);
  if (bytes == 0) return;
  std::optional<std::string> path = outer_path(context_, options_.relocations, file);
  if ((inode.head.flags & CRYO_INODE_MEMFD) != 0 || !path) {
    in_memory_.insert(inode.id);
    return;
  }
  if (path->ends_with(kSuffixOfDeleted)) path->resize(path->size() - kSuffixOfDeleted.size());
  add_at(*path, inode, bytes);
}

void RoomChecker::add_at(const std::string& path, const Inode& inode, std::uint64_t bytes) {
  const UniqueFd directory = directory_above(path);
  struct stat now, old;
  struct statvfs system;
  struct statfs kind;
  const bool writable =
      directory && names::access(fmt::format("/proc/self/fd/{}", directory.get()), W_OK | X_OK) == 0;
  if (!writable || ::fstat(directory.get(), &now) != 0 || ::fstatvfs(directory.get(), &system) != 0 ||
      ::fstatfs(directory.get(), &kind) != 0) {
    in_memory_.insert(inode.id);
    return;
  }
  if (kind.f_type == TMPFS_MAGIC) in_memory_.insert(inode.id);
  if (system.f_blocks == 0) return;  // no limit, or not known
  FileSystemNeeds& place = systems_[now.st_dev];
  // With quotas of projects it is that of the directory: what one of them has is there for certain.
  place.free = std::max<std::uint64_t>(
      place.free, (capable(own_, CAP_SYS_RESOURCE) ? system.f_bfree : system.f_bavail) * system.f_frsize);
  place.may_take_less = may_take_less(kind.f_type);
  place.bytes += bytes;
  ++place.files;
  // POSIX shared memory that has been left behind is emptied first.
  if (names::lstat(path, old) == 0 && S_ISREG(old.st_mode))
    place.given_back += static_cast<std::uint64_t>(old.st_blocks) * 512;
  if (bytes < place.largest_bytes) return;
  place.largest = path;
  place.largest_bytes = bytes;
}

void RoomChecker::report(const FileSystemNeeds& place) {
  if (place.bytes <= place.free + place.given_back) return;
  const std::string what = place.files == 1
                               ? fmt::format("{}: its contents take {} bytes", place.largest, place.bytes)
                               : fmt::format("the contents of {} files take {} bytes, of which {} has {}",
                                             place.files, place.bytes, place.largest, place.largest_bytes);
  const std::string text =
      fmt::format("{}, and {} are free in its file system (--relocate=OLD=NEW selects another one)", what,
                  place.free + place.given_back);
  if (place.may_take_less)
    findings_.warning("{}", text);
  else
    findings_.problem(ENOSPC, "{}", text);
}

std::set<std::uint32_t> RoomChecker::check() {
  std::set<std::uint32_t> seen;  // several names may lead to one
  std::set<std::uint32_t> mapped;
  for (const auto& [id, mm] : context_.mms)
    for (const cryo_vma& vma : mm.vmas)
      if (vma.kind == CRYO_VMA_SHMEM) mapped.insert(context_.file(vma.file).head.inode);
  for (const auto& [id, use] : file_uses(context_)) {
    const File& file = context_.file(id);
    // Shared anonymous memory is open by the way.
    if (is_written(file, use) && !mapped.contains(file.head.inode) && seen.insert(file.head.inode).second)
      add_file(file, use);
  }
  for (auto& [device, place] : systems_) {
    const auto kept = findings_.kept_aside.find(device);
    if (kept != findings_.kept_aside.end()) place.free -= std::min(place.free, kept->second);
    report(place);
  }
  in_memory_.insert(mapped.begin(), mapped.end());
  return in_memory_;
}

}  // namespace

ContentsSizes contents_sizes(const Context& context) {
  ContentsSizes sizes;
  const std::uint64_t page = context.header.page_size;
  for (const PageChunk& chunk : context.pages) {
    if (chunk.kind != CRYO_PAGES_INODE || context.inode(chunk.object).huge_size != 0) continue;
    std::uint64_t& size = sizes[chunk.object];
    const Inode& inode = context.inode(chunk.object);
    const std::uint64_t most = inode.shm ? inode.shm->size : inode.head.size;
    for (const cryo_page_run& run : chunk.runs)
      if (run.start < most)
        size += std::min<std::uint64_t>(run.nr_pages, (most - run.start + page - 1) / page) * page;
  }
  return sizes;
}

std::set<std::uint32_t> check_room(const Context& context, const RestartOptions& options, const Creds& own,
                                   const ContentsSizes& sizes, Findings& findings) {
  return RoomChecker(context, options, own, sizes, findings).check();
}

}  // namespace cryo
