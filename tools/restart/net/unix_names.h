// SPDX-License-Identifier: GPL-2.0-only
// Names of Unix sockets in the file system.  The address that a socket tells is what it was bound to; where
// it can be called is another thing: the file may have been renamed since, or removed, and somebody else may
// have the name by now.
#pragma once

#include <sys/stat.h>

#include <map>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "context/model.h"
#include "restart/files/files.h"
#include "restart/rights/missing_directories.h"

namespace cryo {

struct UnixName {
  SocketAddress
      address;        // what it was bound to, with relocations applied; without a path: it has no such name
  std::string place;  // where the file is to be, absolute where that is known
  bool unlinked = false;             // it has been removed
  const cryo_inode* file = nullptr;  // what stands there; unknown in early contexts
  int type = 0;
  std::string root;  // the root directory of who bound it, when that was not "/": the address begins there
  std::uint32_t mnt = 0;  // mount namespace that the name is in; 0: cr_restart's
};
// Of a socket that has been bound, or of one that was accepted where that listens.
[[nodiscard]] UnixName unix_name_of(const Context& context, const File& file, const Relocations& relocations);

// Why it cannot have its name; empty when it can.  Nobody is called to find that out.
// `code`: the errno value that goes with it.
[[nodiscard]] std::string unix_name_problem(const Context& context, const File& file,
                                            const RestartOptions& options, int& code);

// Of the sender of a datagram that waits, which has been closed since: why nobody can have its name in the
// file system for the moment that it takes to send it again; empty when that is possible.
[[nodiscard]] std::string gone_name_problem(const SocketAddress& address);

// An abstract one for people, from '@' on; empty: it is none.
[[nodiscard]] std::string abstract_name(const Bytes& address);

// Those that the restart makes.
class UnixNames {
 public:
  explicit UnixNames(const FileRestoreInput& input) : input_(input), missing_(input.created) {}

  // In place of what an earlier life has left there.  `id` is how way_to() finds it.
  void bind(std::uint32_t id, int fd, const UnixName& name);
  // To a name in the file system that it had, whatever has that by now: it leads to nothing.
  void bind_gone(int fd, const SocketAddress& address);
  // An address that leads to the socket, whatever has its name by now; nothing: it has none in the file
  // system.
  [[nodiscard]] std::optional<Bytes> way_to(std::uint32_t id) const;
  // When nobody is called any more: owners and modes of the files.
  void finish();

 private:
  struct Bound {
    UniqueFd file;  // O_PATH
    UnixName name;
    std::optional<cryo_inode> attributes;
    std::size_t owner = NamesOf::kOwn;  // the process whose name it is
  };

  [[nodiscard]] UniqueFd bind_at(int fd, const UnixName& name, const std::string& path);
  void unlink_again(const std::string& path);
  [[nodiscard]] UniqueFd bind_unlinked(int fd, const UnixName& name);
  [[nodiscard]] UniqueFd bind_in_place(int fd, const UnixName& name);
  [[nodiscard]] UniqueFd bind_and_rename(int fd, const UnixName& name);
  [[nodiscard]] UniqueFd bind_below(int fd, const UnixName& name, const std::string& directory,
                                    std::string& path);
  [[nodiscard]] UniqueFd bind_inside(int fd, const UnixName& name);
  void note_outside(const std::optional<std::string>& path, const struct stat& made);
  [[nodiscard]] UniqueFd bind_in_root(int fd, const UnixName& name, const std::string& directory,
                                      std::string& path);
  [[nodiscard]] std::string make_directory(const std::string& directory);
  void make_room(const std::string& path);

  const FileRestoreInput& input_;
  MissingDirectories missing_;  // for the moment
  std::map<std::uint32_t, Bound> bound_;
};

}  // namespace cryo
