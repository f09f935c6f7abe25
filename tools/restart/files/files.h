// SPDX-License-Identifier: GPL-2.0-only
// Open files and the descriptor table, rebuilt in the child by ordinary system calls.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/unique_fd.h"
#include "context/model.h"
#include "restart/common/descriptors.h"
#include "restart/common/options.h"
#include "restart/files/file_uses.h"
#include "restart/files/other_uses.h"
#include "restart/files/output_files.h"
#include "restart/files/pidfd.h"
#include "restart/files/standard_files.h"
#include "restart/files/thread_files.h"
#include "restart/rights/created_paths.h"
#include "restart/rights/names.h"
#include "restart/stub/address_space.h"
#include "restart/stub/calls.h"
#include "restart/stub/stub_area.h"

namespace cryo {

class Namespaces;
class UnixNames;

struct FileRestoreInput {
  const Context& context;
  const RestartOptions& options;
  const Descriptors& descriptors;  // of all processes
  CreatedPaths& created;
  const Namespaces& namespaces;
  const std::vector<int>& context_fds;  // parked: by PageChunk::ancestor
  int handle_fd;                        // parked
  UniqueFd stdio[3];                    // cr_restart's own 0, 1 and 2, where open
  std::map<std::uint32_t, UniqueFd>
      inherited{};                               // other ones that its caller has given it, by number, parked
  std::map<std::uint32_t, UniqueFd> fanotify{};  // made by cr_restart, see fanotify.h: by file, parked
  std::map<std::uint32_t, UniqueFd> roots = {};  // root directories of mount namespaces, parked
  const SharedMemory* shared = nullptr;          // shared anonymous memory, in the maker
  OtherUses other_uses = {};                     // with descriptors that are parked
};

// A pseudo-terminal that controls a session, for the session's leader.
struct RestoredTerminal {
  std::int32_t sid;   // as saved
  std::int32_t pgid;  // its foreground group
  UniqueFd slave;
};

// Whose tree `..` of a directory leads into. Processes in different ones have one directory of their own
// each: it is empty.
struct TreeOf {
  std::uint32_t mnt = 0;  // mount namespace of the context; 0: cr_restart's
  std::string
      root;  // root directory of the process (chroot), as cr_restart sees it; empty: that of the namespace
  auto operator<=>(const TreeOf&) const = default;
};
[[nodiscard]] TreeOf tree_of(const RestartOptions& options, const Process& process, const Thread& thread);
[[nodiscard]] TreeOf tree_of_file(const FileRestoreInput& input, const File& file, const FileUse& use);

// All open files of the job, made before its first process, which inherits them, and its children from it.
struct FileStore {
  std::map<std::uint32_t, FileUse> uses;
  std::map<std::uint32_t, UniqueFd> fds;  // by file id, at numbers that no process will have for another one

  // Of memfds: F_SEAL_*, added only when all mappings are made.
  std::vector<std::pair<UniqueFd, std::uint32_t>> seals;

  std::vector<RestoredTerminal> terminals;

  // Removed ones that processes are in, by device and inode.
  std::map<std::tuple<TreeOf, std::uint64_t, std::uint64_t>, UniqueFd> directories;

  // By file and number: descriptors that become cr_restart's own ones.
  std::map<std::pair<std::uint32_t, std::uint32_t>, StandardSource> standard;

  std::map<std::uint32_t, CutFile>
      cut;  // by inode: files that get their old length again at the end, see output_files.h

  std::map<std::uint32_t, PidfdSharing> pidfds;  // by file: those that are made by the processes

  KeptBy kept_by;
  std::map<std::size_t, std::vector<cryo_lock>> locks;  // by who takes them, see locks.h

  std::set<pid_t> named_peers;  // that were gone at the checkpoint, see peer_pids.cc
};
[[nodiscard]] FileStore make_files(FileRestoreInput& input);

struct RestoredFiles {
  std::map<std::uint32_t, int> fds;  // file id: a descriptor of it, in the table or in the store
  std::set<std::uint32_t> kept;      // of these: by FileStore::kept_by
  int exe_fd = -1;                   // parked
  std::vector<ThreadFile>
      of_threads;  // to be opened by the stub: `fds` has the numbers that they are going to have
};
// In a process of the job, when all of them exist: its descriptors at their numbers.
// `made` are those that it has made itself, parked, by file id.
[[nodiscard]] RestoredFiles take_files(const FileRestoreInput& input, const FileStore& store,
                                       std::size_t process, std::map<std::uint32_t, UniqueFd> made);

// ---- the kinds, each in a file of its own ----

// Names are those of who is said to have them.
[[nodiscard]] UniqueFd open_by_path(const FileRestoreInput& input, const File& file, const FileUse& use);

// A directory of /proc on the way to `file`, which there is already.
[[nodiscard]] UniqueFd open_proc_directory(const FileRestoreInput& input, const File& file,
                                           const std::string& directory);

// Seals of a memfd to be added; 0: none, or none can be.
[[nodiscard]] std::uint32_t seals_of(const Inode& inode);
// A file with the contents in the context and no name, for reading and writing.
[[nodiscard]] UniqueFd make_contents(const FileRestoreInput& input, const Inode& inode, const File& file);
// The same with what is at its path now.
[[nodiscard]] UniqueFd make_copy(const FileRestoreInput& input, const Inode& inode, const File& file);
// Pages of one file in the context.
struct FilePages {
  std::vector<const PageChunk*> chunks;
  std::uint64_t page_size;              // bytes
  const std::vector<int>& context_fds;  // by PageChunk::ancestor
  std::uint64_t size;                   // of the file, in bytes
};
// Puts them into a file that is there and empty.  Throws Error, with `path` in the message.
void fill_pages(const FilePages& pages, int fd, const std::string& path);
// Has `fd`, which takes the place of `inode`, another owner, by whose names it has been made and who could
// not read that, whoever made the checkpoint?  It was open for writing only: a log that has been removed, a
// queue of a daemon's.
[[nodiscard]] bool is_hidden(const Context& context, const Inode& inode, int fd);
// The same of one that whoever has the names now is going to make.
[[nodiscard]] bool is_hidden_from_owner(const Context& context, const Inode& inode);
// If it is, it gets the size only; check_files() has told that.
[[nodiscard]] bool leave_empty(const Context& context, const Inode& inode, int fd, const std::string& path);
// The same contents in a file that is there and empty.
void fill_contents(const FileRestoreInput& input, const Inode& inode, int fd, const std::string& path);
// Once all its files are open: owner, mode, times.
void finish_contents(const Context& context, const Inode& inode, int fd);

struct PipeEnds {
  UniqueFd reader, writer;
};
[[nodiscard]] PipeEnds make_pipe(const Inode& inode);
// Its size and what is in it.
void fill_pipe(const Pipe& pipe, int reader, int writer);

// An open directory without a name any more, which need not have been `path`; empty: nowhere in particular.
struct DirectoryAttributes {
  std::uint32_t mode, uid, gid;
};
[[nodiscard]] UniqueFd make_removed_directory(FileRestoreInput& input, const TreeOf& tree,
                                              const std::string& path, const DirectoryAttributes& attributes);
// Working directories: several processes may be in one, or have it open.
void make_removed_cwds(FileRestoreInput& input, FileStore& store);

// Owners, their signals and O_ASYNC of the files at `fds`, by calls of the stub.
struct OwnerPlanInput {
  const Context& context;
  const Process& process;
  std::size_t index;  // of that
  const RestartOptions& options;
  const std::map<std::uint32_t, int>& fds;
  const KeptBy& kept_by;
};
void plan_owners(const OwnerPlanInput& input, CallList& calls, StubArea& area);
// Which process sets the owner of a file that these have; none: nobody may, for who did.
[[nodiscard]] std::optional<std::size_t> owner_setter(const Context& context, const File& file,
                                                      const std::vector<std::size_t>& holders);

[[nodiscard]] UniqueFd make_eventfd(const File& file);
[[nodiscard]] UniqueFd make_timerfd(const File& file);  // not running: see timers.h
[[nodiscard]] UniqueFd make_inotify(const File& file);
// Which file of the context a watch is of that has no path any more.
class RemovedFiles {
 public:
  explicit RemovedFiles(const Context& context) : context_(context) {}
  [[nodiscard]] std::uint32_t find(const Watch& watch);  // 0: it is watched by its path

 private:
  const Context& context_;
  std::optional<std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t>>
      files_;  // by device and number
};
using FdOf = std::function<int(std::uint32_t file)>;
struct InotifyInput {
  const Context& context;
  const RestartOptions& options;
  const FdOf& fd_of;
  int handle_fd;
};
// Those of `fds`.
void fill_inotifies(const InotifyInput& input, const std::map<std::uint32_t, int>& fds);
[[nodiscard]] UniqueFd make_signalfd(const File& file);
[[nodiscard]] UniqueFd make_client(const FileRestoreInput& input, const File& file);
// The threads of `process` for which the others wait after the restart, one for each of its registrations.
[[nodiscard]] std::set<std::int32_t> holders_of(const Context& context, const Process& process);

// The registrations of the calling process, which is `process`, are its own from now on.
void claim_clients(const Context& context, const Process& process, const std::map<std::uint32_t, int>& fds);
[[nodiscard]] UniqueFd make_request();
[[nodiscard]] UniqueFd make_output(const File& file);
[[nodiscard]] UniqueFd make_epoll(const File& file);
// Needs all descriptors in their places.  Fills those of `epolls`; `fds`: what they may watch, too.
void fill_epolls(const Context& context, const Process& process, const std::map<std::uint32_t, int>& epolls,
                 const std::map<std::uint32_t, int>& fds, int handle_fd);
// `names`: of Unix sockets.  `listener`: whom SO_PEERCRED is to name to who connects.
[[nodiscard]] UniqueFd make_socket(const FileRestoreInput& input, const File& file, UnixNames* names,
                                   const OwnIds* listener = nullptr);

// The socket's address with relocations applied, and the path when it has one in the file system.
struct SocketAddress {
  Bytes bytes;
  std::string path;
};
[[nodiscard]] SocketAddress socket_address(const Socket& socket, const Relocations& relocations);

}  // namespace cryo
