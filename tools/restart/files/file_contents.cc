// SPDX-License-Identifier: GPL-2.0-only
// Files whose contents are in the context: deleted ones, memfds, and those that were saved on request.  And
// copies of those that are not to be written to.
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "restart/files/files.h"
#include "restart/memory/tags.h"
#include "restart/rights/missing_directories.h"
#include "restart/rights/rights.h"

namespace cryo {
namespace {

constexpr std::size_t kCopySize = 1 << 20;
constexpr std::string_view kDeleted = " (deleted)";
constexpr std::string_view kMemfd = "/memfd:";

std::string without_suffix(std::string path, std::string_view suffix) {
  if (path.ends_with(suffix)) path.resize(path.size() - suffix.size());
  return path;
}

// Name and, at once, no name: /proc then shows "NAME (deleted)", as it did.
UniqueFd make_and_unlink(const FileRestoreInput& input, const std::string& path) {
  const DeathDeferred deferred(input.created);
  MissingDirectories missing(input.created);
  (void)missing.make_above(path);
  UniqueFd fd = names::open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!fd) return fd;
  input.created.add(path);
  if (!input.created.discard(path)) fail(ESTALE, "cannot unlink {}, which has just been made", path);
  return fd;
}

// Where a file cannot be made without a name, on NFS say, and the old name is taken.
UniqueFd make_by_other_name(const FileRestoreInput& input, const std::string& directory) {
  std::string path = directory + "/.cryo-XXXXXX";
  const DeathDeferred deferred(input.created);
  UniqueFd fd = names::make_temporary(path);
  if (!fd) return fd;
  input.created.add(path);
  if (!input.created.discard(path)) fail(ESTALE, "cannot unlink {}, which has just been made", path);
  return fd;
}

// In a mount namespace of the job's own no name of it is needed, nor made.
UniqueFd make_inside(int root, const std::string& path) {
  return names::open_below(root, "." + path.substr(0, path.rfind('/')), O_TMPFILE | O_RDWR, 0600);
}

UniqueFd make_unnamed(const FileRestoreInput& input, const File& file) {
  const std::string path = without_suffix(input.options.relocations.apply(file.path), kDeleted);
  const auto root = input.roots.find(file.head.mnt);
  const bool inside = root != input.roots.end();
  UniqueFd fd = inside ? make_inside(root->second.get(), path) : make_and_unlink(input, path);
  if (!fd && !inside) {
    const std::string directory = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
    fd = names::open(directory, O_TMPFILE | O_RDWR, 0600);
    if (!fd) fd = make_by_other_name(input, directory);
  }
  // Where nothing can be made in that directory, memory has to do.
  if (!fd) fd = names::make_memfd(path.substr(path.rfind('/') + 1).substr(0, 200));
  if (!fd) fail_errno("cannot recreate {}", path);
  return fd;
}

// It stays when the restart has succeeded, and so do directories that were missing.
UniqueFd make_named(const FileRestoreInput& input, const File& file) {
  const std::string path = input.options.relocations.apply(file.path);
  const DeathDeferred deferred(input.created);
  MissingDirectories missing(input.created);
  (void)missing.make_above(path);
  UniqueFd fd = names::open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!fd) fail_errno("cannot recreate {}", path);
  input.created.add(path);
  return fd;
}

UniqueFd make_memfd(const Context& context, const Inode& inode, const File& file) {
  std::string name = without_suffix(file.path, kDeleted);
  if (name.starts_with(kMemfd)) name = name.substr(kMemfd.size());
  const unsigned flags = MFD_CLOEXEC | (inode.head.seals == F_SEAL_SEAL ? 0 : MFD_ALLOW_SEALING);
  const NamesOf maker = NamesOf::maker_of(context, inode.id);
  UniqueFd fd(as_maker([&] { return ::memfd_create(name.c_str(), flags); }));
  if (!fd) fail_errno("cannot create the memfd {}", name);
  return fd;
}

void read_context(int context_fd, std::uint64_t from, std::byte* to, std::uint64_t size,
                  const std::string& path) {
  while (size > 0) {
    const ssize_t got = ::pread(context_fd, to, size, static_cast<off_t>(from));
    if (got < 0) fail_errno("cannot read the contents of {} from the context", path);
    if (got == 0) fail(ENODATA, "the context ends in the contents of {}", path);
    to += got;
    from += static_cast<std::uint64_t>(got);
    size -= static_cast<std::uint64_t>(got);
  }
}

void copy_range(int context_fd, std::uint64_t from, int fd, std::uint64_t to, std::uint64_t size,
                const std::string& path) {
  std::vector<std::byte> buffer(std::min<std::uint64_t>(size, kCopySize));
  while (size > 0) {
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(size, buffer.size()));
    read_context(context_fd, from, buffer.data(), part, path);
    for (std::size_t done = 0; done < part;) {
      const ssize_t wrote = ::pwrite(fd, buffer.data() + done, part - done, static_cast<off_t>(to + done));
      if (wrote < 0) fail_errno("cannot write the contents of {}", path);
      done += static_cast<std::size_t>(wrote);
    }
    from += part;
    to += part;
    size -= part;
  }
}

// A page of a file, mapped shared and for writing.
class MappedPage {
 public:
  MappedPage(int fd, std::uint64_t start, std::uint64_t size, const std::string& path) : size_(size) {
    address_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(start));
    if (address_ == MAP_FAILED) fail_errno("cannot map the last page of {}", path);
  }
  ~MappedPage() { ::munmap(address_, size_); }
  MappedPage(const MappedPage&) = delete;
  MappedPage& operator=(const MappedPage&) = delete;
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(address_); }

 private:
  void* address_;
  std::uint64_t size_;
};

bool is_in_memory(int fd, const std::string& path) {
  struct statfs now;
  if (::fstatfs(fd, &now) != 0) fail_errno("cannot determine the file system of {}", path);
  return now.f_type == TMPFS_MAGIC;
}

// What a program that has mapped the file has written behind its end, in its last page: files in memory keep
// that, while others have zeroes there once they have been written out.
void fill_behind_end(const FilePages& pages, int fd, const std::string& path) {
  const std::uint64_t used = pages.size % pages.page_size, last = pages.size - used;
  if (used == 0) return;
  for (const PageChunk* chunk : pages.chunks) {
    std::uint64_t from = chunk->data_offset;
    for (const cryo_page_run& run : chunk->runs) {
      const std::uint64_t bytes = run.nr_pages * pages.page_size;
      if (run.start <= last && last - run.start < bytes && is_in_memory(fd, path)) {
        const MappedPage page(fd, last, pages.page_size, path);
        read_context(pages.context_fds[chunk->ancestor], from + (last - run.start) + used, page.data() + used,
                     pages.page_size - used, path);
      }
      from += bytes;
    }
  }
}

}  // namespace

// A memfd that was made without MFD_ALLOW_SEALING has this one seal from the start.
std::uint32_t seals_of(const Inode& inode) {
  if (!(inode.head.flags & CRYO_INODE_MEMFD) || inode.head.seals == F_SEAL_SEAL) return 0;
  return inode.head.seals;
}

void fill_pages(const FilePages& pages, int fd, const std::string& path) {
  if (::ftruncate(fd, static_cast<off_t>(pages.size)) != 0) fail_errno("cannot set the size of {}", path);
  for (const PageChunk* chunk : pages.chunks) {
    std::uint64_t from = chunk->data_offset;
    for (const cryo_page_run& run : chunk->runs) {
      const std::uint64_t bytes = run.nr_pages * pages.page_size;
      if (run.start < pages.size)
        copy_range(pages.context_fds[chunk->ancestor], from, fd, run.start,
                   std::min<std::uint64_t>(bytes, pages.size - run.start), path);
      from += bytes;
    }
  }
  fill_behind_end(pages, fd, path);
}

bool is_hidden(const Context& context, const Inode& inode, int fd) {
  struct stat now;
  return ::fstat(fd, &now) == 0 && now.st_uid != inode.head.uid && is_hidden_from_owner(context, inode);
}

bool is_hidden_from_owner(const Context& context, const Inode& inode) {
  if (names::may_read_all(inode.head)) return false;
  const std::size_t process = NamesOf::current();
  if (process == NamesOf::kOwn) return false;
  for (const auto& [id, use] : file_uses(context, process)) {
    const cryo_file& file = context.file(id).head;
    if (file.inode == inode.id && (file.flags & O_PATH) == 0 &&
        (static_cast<int>(file.flags) & O_ACCMODE) != O_WRONLY)
      return false;
  }
  return true;
}

bool leave_empty(const Context& context, const Inode& inode, int fd, const std::string& path) {
  if (!is_hidden(context, inode, fd)) return false;
  if (::ftruncate(fd, static_cast<off_t>(inode.head.size)) != 0)
    fail_errno("cannot set the size of {}", path);
  return true;
}

void fill_contents(const FileRestoreInput& input, const Inode& inode, int fd, const std::string& path) {
  if (leave_empty(input.context, inode, fd, path)) return;
  FilePages pages{{}, input.context.header.page_size, input.context_fds, inode.head.size};
  for (const PageChunk& chunk : input.context.pages)
    if (chunk.kind == CRYO_PAGES_INODE && chunk.object == inode.id) pages.chunks.push_back(&chunk);
  fill_pages(pages, fd, path);
  set_file_tags(input.context, CRYO_PAGES_INODE, inode.id, fd, path);
}

UniqueFd make_contents(const FileRestoreInput& input, const Inode& inode, const File& file) {
  const bool memfd = inode.head.flags & CRYO_INODE_MEMFD;
  UniqueFd fd = memfd                ? make_memfd(input.context, inode, file)
                : inode.made_by_name ? make_named(input, file)
                                     : make_unnamed(input, file);
  fill_contents(input, inode, fd.get(), file.path);
  return fd;
}

UniqueFd make_copy(const FileRestoreInput& input, const Inode& inode, const File& file) {
  const std::string path = input.options.relocations.apply(file.path);
  const UniqueFd from = names::open_regular(path);
  if (!from) fail_errno("cannot read {}, to give the process a copy", path);
  UniqueFd fd = make_unnamed(input, file);
  struct stat now;
  if (::fstat(from.get(), &now) != 0) fail_errno("cannot stat {}", path);
  copy_range(from.get(), 0, fd.get(), 0,
             std::min<std::uint64_t>(inode.head.size, static_cast<std::uint64_t>(now.st_size)), path);
  if (::ftruncate(fd.get(), static_cast<off_t>(inode.head.size)) != 0)
    fail_errno("cannot set the size of a copy of {}", path);
  return fd;
}

namespace {

bool are_all(const Context& context, std::uint32_t ns, const Creds& creds, std::uint32_t uid,
             std::uint32_t gid) {
  const cryo_creds& head = creds.head;
  const auto is_user = [&](std::uint32_t id) { return number_outside(context, ns, id, false) == uid; };
  const auto is_group = [&](std::uint32_t id) { return number_outside(context, ns, id, true) == gid; };
  return is_user(head.uid) && is_user(head.euid) && is_user(head.suid) && is_user(head.fsuid) &&
         is_group(head.gid) && is_group(head.egid) && is_group(head.sgid) && is_group(head.fsgid);
}

// All processes and threads have the ids that the file would give: nobody can gain anything by executing it.
bool gives_nothing(const Context& context, const Inode& inode) {
  return std::all_of(context.processes.begin(), context.processes.end(), [&](const Process& process) {
    if ((process.head.flags & CRYO_PROC_ZOMBIE) != 0) return true;
    const auto is_owner = [&](const Creds& creds) {
      return are_all(context, process.namespaces.user, creds, inode.head.uid, inode.head.gid);
    };
    return process.creds && is_owner(*process.creds) &&
           std::all_of(process.threads.begin(), process.threads.end(),
                       [&](const Thread& thread) { return !thread.creds || is_owner(*thread.creds); });
  });
}

}  // namespace

void finish_contents(const Context& context, const Inode& inode, int fd) {
  struct stat now;
  if (::fstat(fd, &now) != 0) fail_errno("fstat");
  // Ownership is restored where the process may; the file is open already, so nobody needs it to. Some file
  // systems say of whom and of what mode a file is as their user likes: a setuid file of root's, say.
  // Root makes none with such a mode for others: whoever has it open could execute it.
  const mode_t mode = inode.head.mode & (::getuid() == 0 && !gives_nothing(context, inode) ? 01777 : 07777);
  const bool other_owner = now.st_uid != inode.head.uid || now.st_gid != inode.head.gid;
  if (other_owner) (void)names::fchown(fd, inode.head.uid, inode.head.gid);
  if ((other_owner || (now.st_mode & 07777) != mode) && names::fchmod(fd, mode) != 0 &&
      now.st_uid == names::owner())
    fail_errno("cannot set the mode of a recreated file");
  const timespec times[2] = {
      {0, UTIME_OMIT}, {static_cast<time_t>(inode.head.mtime_sec), static_cast<long>(inode.head.mtime_nsec)}};
  if (::futimens(fd, times) != 0) fail_errno("cannot set the time of a recreated file");
}

}  // namespace cryo
