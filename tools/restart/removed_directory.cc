// SPDX-License-Identifier: GPL-2.0-only
// Directories that have been removed while somebody was in them: made, opened, and removed again.  Nothing
// can be in them, so an empty one is what it was.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "restart/files.h"

namespace cryo {
namespace {

// What has been made, removed again in reverse order.
class Ladder {
 public:
  explicit Ladder(CreatedPaths& created) : created_(created) {}
  ~Ladder() {
    for (auto path = made_.rbegin(); path != made_.rend(); ++path)
      if (::rmdir(path->c_str()) == 0) created_.remove(*path);
  }
  Ladder(const Ladder&) = delete;
  Ladder& operator=(const Ladder&) = delete;

  // `path` with all that is missing above it.
  bool make(const std::string& path) {
    if (make_last(path)) return true;
    const std::size_t slash = path.rfind('/');
    if (errno != ENOENT || slash == 0 || slash == std::string::npos) return false;
    return make(path.substr(0, slash)) && make_last(path);
  }

  void note(const std::string& path) {
    made_.push_back(path);
    created_.add(path);
  }

 private:
  bool make_last(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) != 0) return false;
    note(path);
    return ::chmod(path.c_str(), 0700) == 0;  // whatever the umask
  }

  CreatedPaths& created_;
  std::vector<std::string> made_;
};

// Somebody has taken the name, or nothing can be made there: another one will do.
std::string substitute(const std::string& path, Ladder& ladder) {
  for (std::string name : {path + ".XXXXXX", std::string("/tmp/cryo-XXXXXX")}) {
    if (::mkdtemp(name.data()) == nullptr) continue;
    ladder.note(name);
    return name;
  }
  fail_errno("cannot make the removed directory {} anew", path);
}

}  // namespace

UniqueFd make_removed_directory(CreatedPaths& created, std::string path,
                                const DirectoryAttributes& attributes) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const DeathDeferred deferred(created);
  Ladder ladder(created);
  if (!ladder.make(path)) path = substitute(path, ladder);
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) fail_errno("cannot open {}", path);
  // Where the caller may not give it away, it is his: he has restarted the process as himself.
  (void)!::fchown(fd.get(), attributes.uid, attributes.gid);
  if (::fchmod(fd.get(), attributes.mode & 07777) != 0) fail_errno("cannot set the mode of {}", path);
  return fd;
}

void make_removed_cwds(FileRestoreInput& input, FileStore& store) {
  for (const auto& [id, fd] : store.fds) {
    const File& file = input.context.file(id);
    if (file.head.kind != CRYO_FILE_REMOVED_DIR) continue;
    const cryo_inode& inode = input.context.inode(file.head.inode).head;
    store.directories.try_emplace({inode.dev, inode.ino}, input.descriptors.park_copy(fd.get()));
  }
  const auto make = [&](const cryo_path& head, const std::string& saved, const Creds& creds) {
    const auto key = std::make_pair(head.dev, head.ino);
    if (!(head.flags & CRYO_PATH_DELETED) || store.directories.contains(key)) return;
    const std::string path = input.options.relocations.apply(saved);
    const std::uint32_t mode = head.mode != 0 ? head.mode : 0755;
    UniqueFd fd = make_removed_directory(input.created, path, {mode, creds.head.euid, creds.head.egid});
    store.directories.emplace(key, input.descriptors.park(std::move(fd)));
  };
  for (const Process& process : input.context.processes) {
    if (process.cwd) make(process.cwd->head, process.cwd->path, *process.creds);
    for (const Thread& thread : process.threads)
      if (thread.fs) make(thread.fs->head.cwd, thread.fs->path, *process.creds);
  }
}

}  // namespace cryo
