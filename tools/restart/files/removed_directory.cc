// SPDX-License-Identifier: GPL-2.0-only
// Directories that have been removed while somebody was in them: made, opened, and removed again.  Nothing
// can be in them, so an empty one is what it was.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"
#include "restart/files/files.h"
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

}  // namespace

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
  // In a mount namespace of the job's own it is the name of something else here.
  const auto make = [&](const cryo_path& head, const std::string& saved, const Creds& creds, bool elsewhere) {
    const auto key = std::make_pair(head.dev, head.ino);
    if (!(head.flags & CRYO_PATH_DELETED) || store.directories.contains(key)) return;
    const std::string path = elsewhere ? std::string() : input.options.relocations.apply(saved);
    const std::uint32_t mode = head.mode != 0 ? head.mode : 0755;
    UniqueFd fd = make_removed_directory(input.created, path, {mode, creds.head.euid, creds.head.egid});
    store.directories.emplace(key, input.descriptors.park(std::move(fd)));
  };
  for (std::size_t i = 0; i < input.context.processes.size(); ++i) {
    const Process& process = input.context.processes[i];
    const NamesOf theirs(input.context, i);
    const bool elsewhere = process.namespaces.mnt != 0;
    if (process.cwd) make(process.cwd->head, process.cwd->path, *process.creds, elsewhere);
    for (const Thread& thread : process.threads)
      if (thread.fs) make(thread.fs->head.cwd, thread.fs->path, *process.creds, elsewhere);
  }
}

}  // namespace cryo
