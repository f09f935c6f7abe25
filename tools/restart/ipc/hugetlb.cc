// SPDX-License-Identifier: GPL-2.0-only
#include "restart/ipc/hugetlb.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "restart/files/contents_files.h"
#include "restart/ipc/posix_shm.h"
#include "restart/memory/huge_sizes.h"
#include "restart/rights/created_paths.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

constexpr std::string_view kRemovedSuffix = " (deleted)";

// Part of a file, mapped shared: its pages are reserved then.  System calls that write to it fail where there
// are none all the same, as the limit of a control group says; who writes himself would get SIGBUS.
class HugePart {
 public:
  HugePart(int fd, AddressRange part, std::uint64_t huge_size, const std::string& path) : size_(part.size()) {
    address_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(part.start));
    if (address_ == MAP_FAILED)
      fail_errno("cannot reserve {} huge pages of {} for {}", size_ / huge_size, huge_size_text(huge_size),
                 path);
  }
  ~HugePart() { ::munmap(address_, size_); }
  HugePart(const HugePart&) = delete;
  HugePart& operator=(const HugePart&) = delete;
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(address_); }

 private:
  void* address_;
  std::uint64_t size_;
};

void fill_huge_run(int context_fd, std::uint64_t from, int fd, const Inode& inode, AddressRange bytes,
                   const std::string& path) {
  const std::uint64_t rest = inode.huge_size - 1;
  const AddressRange part{bytes.start & ~rest, (bytes.end + rest) & ~rest};
  const HugePart mapped(fd, part, inode.huge_size, path);
  std::byte* to = mapped.data() + (bytes.start - part.start);
  for (std::uint64_t left = bytes.size(); left > 0;) {
    const ssize_t got = ::pread(context_fd, to, left, static_cast<off_t>(from));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno("cannot read the contents of {} from the context", path);
    if (got == 0) fail(ENODATA, "the context ends in the contents of {}", path);
    to += got;
    from += static_cast<std::uint64_t>(got);
    left -= static_cast<std::uint64_t>(got);
  }
}

// write(2) does not know these files.
void fill_hugetlb(const FileRestoreInput& input, const Inode& inode, int fd, const std::string& path) {
  const std::uint64_t page = input.context.header.page_size;
  if (leave_empty(input.context, inode, fd, path)) return;
  if (::ftruncate(fd, static_cast<off_t>(inode.head.size)) != 0)
    fail_errno("cannot set the size of {}", path);
  for (const PageChunk& chunk : input.context.pages) {
    if (chunk.kind != CRYO_PAGES_INODE || chunk.object != inode.id) continue;
    std::uint64_t from = chunk.data_offset;
    for (const cryo_page_run& run : chunk.runs) {
      const std::uint64_t bytes = run.nr_pages * page;
      fill_huge_run(input.context_fds[chunk.ancestor], from, fd, inode, {run.start, run.start + bytes}, path);
      from += bytes;
    }
  }
}

// Empty: what is open there is a file system whose files have such pages.
std::string file_system_problem(int fd, std::uint64_t huge_size) {
  struct statfs now;
  if (::fstatfs(fd, &now) != 0 || now.f_type != HUGETLBFS_MAGIC)
    return "is not in a hugetlbfs any more: mount -t hugetlbfs there, or --relocate=OLD=NEW";
  if (static_cast<std::uint64_t>(now.f_bsize) == huge_size) return {};
  return fmt::format(
      "is in a hugetlbfs with pages of {}, and had pages of {}: mount one with pagesize={}, or "
      "--relocate=OLD=NEW",
      huge_size_text(static_cast<std::uint64_t>(now.f_bsize)), huge_size_text(huge_size), huge_size);
}

std::string directory_with(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);
}

UniqueFd make_huge_memfd(const FileRestoreInput& input, const Inode& inode, std::string name,
                         unsigned flags) {
  const NamesOf maker = NamesOf::maker_of(input.context, inode.id);
  flags |= MFD_CLOEXEC | memfd_flags(inode.huge_size);
  UniqueFd fd(as_maker([&] { return ::memfd_create(name.c_str(), flags); }));
  if (!fd) fail_errno("cannot make the memfd {} in huge pages of {}", name, huge_size_text(inode.huge_size));
  return fd;
}

std::string name_of_removed(std::string path) {
  if (path.ends_with(kRemovedSuffix)) path.resize(path.size() - kRemovedSuffix.size());
  return path;
}

// Where it was, if that is still such a file system; else a memfd has to do.
UniqueFd make_removed_hugetlb(const FileRestoreInput& input, const Inode& inode, const std::string& path) {
  const std::string directory = directory_with(path);
  const UniqueFd place = names::open(directory, O_PATH | O_DIRECTORY);
  if (place && file_system_problem(place.get(), inode.huge_size).empty()) {
    std::string name = directory + ".cryo-XXXXXX";
    const DeathDeferred deferred(input.created);
    UniqueFd fd = names::open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd)
      name = path;
    else
      fd = names::make_temporary(name);
    if (fd) {
      input.created.add(name);
      if (!input.created.discard(name)) fail(ESTALE, "cannot unlink {}, which has just been made", name);
      return fd;
    }
  }
  return make_huge_memfd(input, inode, path.substr(path.rfind('/') + 1).substr(0, 200), 0);
}

}  // namespace

UniqueFd make_hugetlb(const FileRestoreInput& input, const Inode& inode, const File& file) {
  UniqueFd fd;
  std::string path = name_of_removed(file.path);
  if (inode.head.flags & CRYO_INODE_MEMFD) {
    fd = make_huge_memfd(input, inode, path, inode.head.seals == F_SEAL_SEAL ? 0 : MFD_ALLOW_SEALING);
  } else {
    path = input.options.relocations.apply(path);
    if (inode.head.flags & CRYO_INODE_DELETED) {
      fd = make_removed_hugetlb(input, inode, path);
    } else {
      fd = make_named_memory(input, inode, path);
      if (const std::string text = file_system_problem(fd.get(), inode.huge_size); !text.empty())
        fail(EINVAL, "{}: {}", path, text);
    }
  }
  fill_hugetlb(input, inode, fd.get(), path);
  return fd;
}

std::string hugetlb_problem(const Inode& inode, const std::string& path) {
  const UniqueFd place = names::open(directory_with(path), O_PATH | O_DIRECTORY);
  if (!place) return fmt::format("cannot be recreated in {}: {}", directory_with(path), errno_text(errno));
  const std::string text = file_system_problem(place.get(), inode.huge_size);
  return text.empty() ? posix_shm_problem(inode, path) : text;
}

namespace {

// A memfd, or what has no name any more, is made anew anywhere.
void check_hugetlb_file(FileCheck& at, const File& file, const FileUse&) {
  const Inode& inode = at.context.inode(file.head.inode);
  if (inode.head.flags & CRYO_INODE_DELETED) return;
  if (const std::string text = hugetlb_problem(inode, at.path); !text.empty()) at.problem(EEXIST, "{}", text);
}

}  // namespace

const FileKind kHugetlbKind = {
    .kind = CRYO_FILE_HUGETLB,
    .check = check_hugetlb_file,
    .open = [](FileMaking& making, const File& file,
               const FileUse& use) { return making.state<ContentsFiles>().open(file, use, make_hugetlb); },
    .has_position = true};

}  // namespace cryo
