// SPDX-License-Identifier: GPL-2.0-only
// What is in a temporary file system.  Nobody else sees it yet, and the context has been found to have no
// path that leads through a symbolic link.
#include "restart/files/mount_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "restart/files/files.h"
#include "restart/memory/tags.h"
#include "restart/ns/mounts.h"

namespace cryo {
namespace {

timespec time_of(std::int64_t ns) {
  const std::int64_t rest = (ns % kNsPerSec + kNsPerSec) % kNsPerSec;
  return {static_cast<time_t>((ns - rest) / kNsPerSec), static_cast<long>(rest)};
}

using PagesByFile = std::map<std::uint32_t, std::vector<const PageChunk*>>;

// Looking for each file's through all would take too long where there are many.
PagesByFile pages_by_file(const Context& context) {
  PagesByFile pages;
  for (const PageChunk& chunk : context.pages)
    if (chunk.kind == CRYO_PAGES_TMPFS) pages[chunk.object].push_back(&chunk);
  return pages;
}

class MountFiller {
 public:
  MountFiller(const Context& context, const PagesByFile& pages, const std::vector<int>& context_fds,
              std::string point)
      : context_(context),
        pages_(pages),
        context_fds_(context_fds),
        point_(std::move(point)),
        top_(open_mount(point_, "tmpfs")) {}

  void make(const MountEntry& entry) const;
  void finish(const MountEntry& entry) const;

 private:
  [[nodiscard]] int make_file(const MountEntry& entry) const;
  [[noreturn]] void fail_at(const MountEntry& entry, const char* what) const {
    fail_errno("mount {}: cannot {} {}", point_, what, entry.path);
  }

  const Context& context_;
  const PagesByFile& pages_;
  const std::vector<int>& context_fds_;
  std::string point_;
  UniqueFd top_;
};

int MountFiller::make_file(const MountEntry& entry) const {
  const UniqueFd fd(
      ::openat(top_.get(), entry.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return -1;
  const auto chunks = pages_.find(entry.id);
  fill_pages({chunks == pages_.end() ? std::vector<const PageChunk*>{} : chunks->second,
              context_.header.page_size, context_fds_, entry.head.size},
             fd.get(), entry.path);
  set_file_tags(context_, CRYO_PAGES_TMPFS, entry.id, fd.get(), entry.path);
  return 0;
}

void MountFiller::make(const MountEntry& entry) const {
  if (entry.path.empty()) return;
  const char* path = entry.path.c_str();
  int result = 0;
  if (entry.head.link != 0) {
    const std::string& first = context_.mount_entries.at(entry.head.link).path;
    if (::linkat(top_.get(), first.c_str(), top_.get(), path, 0) != 0) fail_at(entry, "make");
    return;
  }
  switch (entry.head.mode & S_IFMT) {
    case S_IFDIR:
      result = ::mkdirat(top_.get(), path, 0700);
      break;
    case S_IFLNK:
      result = ::symlinkat(entry.target.c_str(), top_.get(), path);
      break;
    case S_IFIFO:
      result = ::mkfifoat(top_.get(), path, 0600);
      break;
    case S_IFSOCK:
      result = ::mknodat(top_.get(), path, S_IFSOCK | 0600, 0);
      break;
    case S_IFCHR:
      result = ::mknodat(top_.get(), path, S_IFCHR | 0600,
                         ::makedev(entry.head.rdev >> 8, entry.head.rdev & 0xff));
      break;
    default:
      result = make_file(entry);
  }
  if (result != 0) fail_at(entry, "make");
}

// The first name of a file; when everything in it has been made.
void MountFiller::finish(const MountEntry& entry) const {
  const char* path = entry.path.empty() ? "." : entry.path.c_str();
  const cryo_mount_entry& head = entry.head;
  struct stat now;
  if (::fstatat(top_.get(), path, &now, AT_SYMLINK_NOFOLLOW) != 0) fail_at(entry, "look at");
  if ((now.st_uid != head.uid || now.st_gid != head.gid) &&
      ::fchownat(top_.get(), path, head.uid, head.gid, AT_SYMLINK_NOFOLLOW) != 0)
    fail_at(entry, "set the owner of");
  if (!S_ISLNK(head.mode) && ::fchmodat(top_.get(), path, head.mode & 07777, 0) != 0)
    fail_at(entry, "set the mode of");
  const timespec times[2] = {time_of(head.atime_ns), time_of(head.mtime_ns)};
  if (::utimensat(top_.get(), path, times, AT_SYMLINK_NOFOLLOW) != 0) fail_at(entry, "set the times of");
}

}  // namespace

void fill_mount(const Context& context, const std::vector<int>& context_fds, std::uint32_t ns,
                std::uint32_t mount, const std::string& point) {
  std::vector<const MountEntry*> entries;
  for (const auto& [id, entry] : context.mount_entries)
    if (entry.head.ns == ns && entry.head.mount == mount) entries.push_back(&entry);
  if (entries.empty()) return;
  const PagesByFile pages = pages_by_file(context);
  const MountFiller filler(context, pages, context_fds, point);
  for (const MountEntry* entry : entries) filler.make(*entry);
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
    if ((*entry)->head.link == 0) filler.finish(**entry);
}

}  // namespace cryo
