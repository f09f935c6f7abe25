// SPDX-License-Identifier: GPL-2.0-only
// Directories that have been removed while somebody was in them: made, opened, and removed again.  Nothing
// can be in them, so an empty one is what it was.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"
#include "base/random_part.h"
#include "restart/files/file_kinds.h"
#include "restart/files/files.h"
#include "restart/files/reopen.h"
#include "restart/rights/missing_directories.h"

namespace cryo {
namespace {

// Somebody has taken the name, or nothing can be made there: another one will do.
std::string substitute(const std::string& path, MissingDirectories& missing) {
  for (std::string name : {path + ".XXXXXX", std::string("/tmp/cryo-XXXXXX")}) {
    if (name.front() != '/' || !names::make_temporary_directory(name)) continue;
    missing.note(name);
    return name;
  }
  fail_errno("cannot recreate the removed directory {}", path);
}

// In a mount namespace of the job's own: `..` of it leads to where it was made, which must not be the machine's tree.
UniqueFd make_in_namespace(CreatedPaths& created, int root, const DirectoryAttributes& attributes) {
  const DeathDeferred deferred(created);
  const std::string name = "cryo-" + random_part();
  for (const char* parent : {"tmp", "var/tmp", "dev/shm", "."}) {
    const UniqueFd place = names::open_below(root, parent, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    if (!place || names::mkdir_below(place.get(), name, 0700) != 0) continue;
    UniqueFd fd = names::open_below(place.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    const int error = errno;
    (void)names::unlinkat(place.get(), name, AT_REMOVEDIR);
    if (!fd) fail(error, "cannot open a removed directory that has just been recreated");
    (void)names::fchown(fd.get(), attributes.uid, attributes.gid);
    if (names::fchmod(fd.get(), attributes.mode & 07777) != 0) fail_errno("cannot set the mode of a removed directory");
    return fd;
  }
  fail_errno("cannot recreate a removed directory in its mount namespace (in /tmp, /var/tmp, /dev/shm or /)");
}

}  // namespace

UniqueFd make_removed_directory_of(FileRestoreInput& input, std::uint32_t mnt, const std::string& path,
                                   const DirectoryAttributes& attributes) {
  if (mnt == 0) return make_removed_directory(input.created, path, attributes);
  const auto root = input.roots.find(mnt);
  if (root == input.roots.end()) fail(ESRCH, "cannot recreate the removed directory {}: its mount namespace {} is not there", path, mnt);
  return make_in_namespace(input.created, root->second.get(), attributes);
}

UniqueFd make_removed_directory(CreatedPaths& created, std::string path,
                                const DirectoryAttributes& attributes) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const DeathDeferred deferred(created);
  MissingDirectories missing(created);
  if (path.empty() || !missing.make(path)) path = substitute(path, missing);
  UniqueFd fd = names::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!fd) fail_errno("cannot open {}", path);
  // Where the caller may not give it away, it is his: he has restarted the process as himself.
  (void)names::fchown(fd.get(), attributes.uid, attributes.gid);
  if (names::fchmod(fd.get(), attributes.mode & 07777) != 0) fail_errno("cannot set the mode of {}", path);
  return fd;
}

void make_removed_cwds(FileRestoreInput& input, FileStore& store) {
  for (const auto& [id, fd] : store.fds) {
    const File& file = input.context.file(id);
    if (file.head.kind != CRYO_FILE_REMOVED_DIR) continue;
    const cryo_inode& inode = input.context.inode(file.head.inode).head;
    store.directories.try_emplace({inode.dev, inode.ino}, input.descriptors.park_copy(fd.get()));
  }
  const auto make = [&](const cryo_path& head, const std::string& saved, const Creds& creds, std::uint32_t mnt) {
    const auto key = std::make_pair(head.dev, head.ino);
    if (!(head.flags & CRYO_PATH_DELETED) || store.directories.contains(key)) return;
    const std::uint32_t mode = head.mode != 0 ? head.mode : 0755;
    UniqueFd fd = make_removed_directory_of(input, mnt, input.options.relocations.apply(saved),
                                            {mode, creds.head.euid, creds.head.egid});
    store.directories.emplace(key, input.descriptors.park(std::move(fd)));
  };
  for (std::size_t i = 0; i < input.context.processes.size(); ++i) {
    const Process& process = input.context.processes[i];
    const NamesOf theirs(input.context, i);
    const std::uint32_t mnt = process.namespaces.mnt;
    if (process.cwd) make(process.cwd->head, process.cwd->path, *process.creds, mnt);
    for (const Thread& thread : process.threads)
      if (thread.fs) make(thread.fs->head.cwd, thread.fs->path, *process.creds, mnt);
  }
}

namespace {

struct RemovedDirectories {
  std::map<std::uint32_t, UniqueFd> by_inode;
};

UniqueFd open_removed_directory(FileMaking& making, const File& file, const FileUse& use) {
  const Inode& inode = making.input.context.inode(file.head.inode);
  auto& directories = making.state<RemovedDirectories>().by_inode;
  auto base = directories.find(inode.id);
  if (base == directories.end()) {
    UniqueFd fd = make_removed_directory_of(making.input, file.head.mnt, making.input.options.relocations.apply(file.path),
                                            {inode.head.mode, inode.head.uid, inode.head.gid});
    base = directories.emplace(inode.id, making.input.descriptors.park(std::move(fd))).first;
  }
  return reopen(base->second.get(), open_flags(file, use), file.path.c_str());
}

}  // namespace

const FileKind kRemovedDirectoryKind = {.kind = CRYO_FILE_REMOVED_DIR, .open = open_removed_directory};

}  // namespace cryo
