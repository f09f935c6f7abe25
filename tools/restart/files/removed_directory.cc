// SPDX-License-Identifier: GPL-2.0-only
// Directories that have been removed while somebody was in them: made, opened, and removed again.  Nothing
// can be in them, so an empty one is what it was.
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/random_part.h"
#include "restart/files/file_kinds.h"
#include "restart/files/files.h"
#include "restart/files/reopen.h"
#include "restart/rights/missing_directories.h"

namespace cryo {
namespace {

constexpr const char* kParents[] = {"/tmp", "/var/tmp", "/dev/shm", "/"};

// In `parent`. Nothing: it cannot be made there.
UniqueFd make_below(int parent) {
  const std::string name = "cryo-" + random_part();
  if (names::mkdir_below(parent, name, 0700) != 0) return {};
  UniqueFd fd = names::open_below(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
  const int error = errno;
  struct stat now;
  if (names::unlinkat(parent, name, AT_REMOVEDIR) != 0)
    fail_errno("cannot remove the directory {} that has just been created", name);
  if (!fd) fail(error, "cannot open a removed directory that has just been recreated");
  if (::fstat(fd.get(), &now) != 0 || now.st_nlink != 0)
    fail(ESTALE, "the directory {} was replaced when it had just been created", name);
  return fd;
}

// The same in a temporary file system of the job's, which looks afterwards as it did before.
UniqueFd make_unseen(int parent) {
  struct stat before;
  struct statfs system;
  if (::fstat(parent, &before) != 0 || ::fstatfs(parent, &system) != 0) return {};
  UniqueFd fd = make_below(parent);
  cryo_inode wanted{};
  wanted.mtime_sec = before.st_mtim.tv_sec;
  wanted.mtime_nsec = static_cast<std::uint32_t>(before.st_mtim.tv_nsec);
  if (fd && system.f_type == TMPFS_MAGIC) (void)names::set_time(parent, wanted);
  return fd;
}

// In a file system of its own, mounted nowhere: `..` leads nowhere. What is left where nothing can be written
// to.
UniqueFd make_apart() {
  const UniqueFd context(static_cast<int>(::syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC)));
  if (!context || ::syscall(SYS_fsconfig, context.get(), FSCONFIG_SET_STRING, "mode", "1777", 0) != 0 ||
      ::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return {};
  const UniqueFd mount(static_cast<int>(
      ::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)));
  return mount ? make_below(mount.get()) : UniqueFd();
}

// Where it cannot be given away, it is the caller's: he has restarted the process as himself.
UniqueFd with_attributes(UniqueFd fd, const std::string& path, const DirectoryAttributes& attributes) {
  (void)names::fchown(fd.get(), attributes.uid, attributes.gid);
  if (names::fchmod(fd.get(), attributes.mode & 07777) != 0)
    fail_errno("cannot set the mode of the removed directory {}", path);
  return fd;
}

// Somebody has taken the name, or nothing can be made there: another one will do.
std::string substitute(const std::string& path, MissingDirectories& missing) {
  for (std::string name : {path + ".XXXXXX", std::string("/tmp/cryo-XXXXXX")}) {
    if (name.front() != '/' || !names::make_temporary_directory(name)) continue;
    missing.note(name);
    return name;
  }
  return "";
}

// On the machine's own tree. Nothing: it cannot be made there.
UniqueFd make_on_machine(CreatedPaths& created, std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const DeathDeferred deferred(created);
  MissingDirectories missing(created);
  if (path.empty() || !missing.make(path)) path = substitute(path, missing);
  if (path.empty()) return {};
  UniqueFd fd = names::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!fd) fail_errno("cannot open {}", path);
  return fd;
}

// In the root directory `root` of who has it, whose name it has below `top`: where it was, or somewhere else
// in there. `..` must lead neither to the machine's tree nor out of that. Nothing: it cannot be made there.
UniqueFd make_in_root(CreatedPaths& created, int top, const std::string& path, const std::string& root) {
  const DeathDeferred deferred(created);
  const UniqueFd own = names::open_in_root(top, root.empty() ? "/" : root, O_PATH | O_DIRECTORY);
  if (!own) return {};
  const std::string::size_type slash = path.find_last_of('/');
  std::vector<std::string> parents(std::begin(kParents), std::end(kParents));
  if (slash != std::string::npos && path.starts_with(root + "/"))
    parents.insert(parents.begin(), path.substr(root.size(), slash - root.size()) + "/");
  for (const std::string& parent : parents) {
    const UniqueFd at = names::open_in_root(own.get(), parent, O_PATH | O_DIRECTORY);
    if (!at) continue;
    if (UniqueFd fd = make_unseen(at.get())) return fd;
  }
  return {};
}

}  // namespace

TreeOf tree_of(const RestartOptions& options, const Process& process, const Thread& thread) {
  const std::optional<Root>& root = thread.fs ? thread.root : process.threads.front().root;
  std::string path = root ? options.relocations.apply(root->path) : "";
  return {process.namespaces.mnt, path == "/" ? "" : path};
}

// Of the first that uses it, or may receive it.
TreeOf tree_of_file(const FileRestoreInput& input, const File& file, const FileUse& use) {
  for (const std::size_t index : use.processes) {
    const Process& process = input.context.processes[index];
    if (process.threads.empty() || process.namespaces.mnt != file.head.mnt) continue;
    return tree_of(input.options, process, process.threads.front());
  }
  return {file.head.mnt, ""};
}

UniqueFd make_removed_directory(FileRestoreInput& input, const TreeOf& tree, const std::string& path,
                                const DirectoryAttributes& attributes) {
  UniqueFd fd;
  if (tree.mnt != 0) {
    const auto place = input.roots.find(tree.mnt);
    if (place == input.roots.end())
      fail(ESRCH, "cannot recreate the removed directory {}: its mount namespace {} is not there", path,
           tree.mnt);
    fd = make_in_root(input.created, place->second.get(), path, tree.root);
  } else if (!tree.root.empty()) {
    const UniqueFd top = names::open("/", O_PATH | O_DIRECTORY);
    fd = make_in_root(input.created, top.get(), path, tree.root);
  } else {
    fd = make_on_machine(input.created, path);
  }
  const int error = errno;
  if (!fd) fd = make_apart();
  if (!fd)
    fail(error,
         "cannot recreate the removed directory {} at its place, in {}/tmp, or in a file system of its own",
         path, tree.root);
  return with_attributes(std::move(fd), path, attributes);
}

void make_removed_cwds(FileRestoreInput& input, FileStore& store) {
  for (const auto& [id, fd] : store.fds) {
    const File& file = input.context.file(id);
    if (file.head.kind != CRYO_FILE_REMOVED_DIR) continue;
    const cryo_inode& inode = input.context.inode(file.head.inode).head;
    store.directories.try_emplace({tree_of_file(input, file, store.uses.at(id)), inode.dev, inode.ino},
                                  input.descriptors.park_copy(fd.get()));
  }
  const auto make = [&](const cryo_path& head, const std::string& saved, const Process& process,
                        const Thread& thread) {
    const TreeOf tree = tree_of(input.options, process, thread);
    const auto key = std::make_tuple(tree, head.dev, head.ino);
    if (!(head.flags & CRYO_PATH_DELETED) || store.directories.contains(key)) return;
    const std::uint32_t mode = head.mode != 0 ? head.mode : 0755;
    UniqueFd fd = make_removed_directory(input, tree, input.options.relocations.apply(saved),
                                         {mode, process.creds->head.euid, process.creds->head.egid});
    store.directories.emplace(key, input.descriptors.park(std::move(fd)));
  };
  for (std::size_t i = 0; i < input.context.processes.size(); ++i) {
    const Process& process = input.context.processes[i];
    const NamesOf theirs(input.context, i);
    if (process.threads.empty()) continue;
    if (process.cwd) make(process.cwd->head, process.cwd->path, process, process.threads.front());
    for (const Thread& thread : process.threads)
      if (thread.fs) make(thread.fs->head.cwd, thread.fs->path, process, thread);
  }
}

namespace {

struct RemovedDirectories {
  std::map<std::pair<TreeOf, std::uint32_t>, UniqueFd> by_inode;
};

UniqueFd open_removed_directory(FileMaking& making, const File& file, const FileUse& use) {
  const Inode& inode = making.input.context.inode(file.head.inode);
  auto& directories = making.state<RemovedDirectories>().by_inode;
  const auto key = std::make_pair(tree_of_file(making.input, file, use), inode.id);
  auto base = directories.find(key);
  if (base == directories.end()) {
    UniqueFd fd =
        make_removed_directory(making.input, key.first, making.input.options.relocations.apply(file.path),
                               {inode.head.mode, inode.head.uid, inode.head.gid});
    base = directories.emplace(key, making.input.descriptors.park(std::move(fd))).first;
  }
  return reopen(base->second.get(), open_flags(file, use), file.path.c_str());
}

}  // namespace

const FileKind kRemovedDirectoryKind = {.kind = CRYO_FILE_REMOVED_DIR, .open = open_removed_directory};

}  // namespace cryo
