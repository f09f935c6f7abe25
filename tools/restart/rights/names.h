// SPDX-License-Identifier: GPL-2.0-only
// Names in the file system that a restart opens, makes, changes or removes, each with the rights of the
// process that has it.  All system calls of the restart that take such a name are here (tests/lint/sources
// sees to that), and none of them is made before somebody has said whose name it is.
//
// What a process could reach when it was checkpointed may be somewhere else by now: whoever can change a
// directory on the way can have a name lead to any file.  cr_restart of root must not go there in its own
// right.
#pragma once

#include <mqueue.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "context/model.h"
#include "restart/rights/rights.h"
#include "restart/rights/rights_kept.h"

namespace cryo {

class CreatedPaths;

// Where the owner of a name is not known.
[[nodiscard]] std::vector<std::size_t> everybody(const Context& context);

// While it lives, names are those of these processes (indexes); only what all of them may do is done, where
// there are several.  The innermost one counts.  It changes nothing by itself: names:: do, for one system
// call each.
class NamesOf {
 public:
  // Of who made the object that the inode `inode` is of (sockets, pipes, memfds): whose it is says the
  // kernel.
  [[nodiscard]] static NamesOf maker_of(const Context& context, std::uint32_t inode);
  NamesOf(const Context& context, std::size_t process);
  NamesOf(const Context& context, const std::vector<std::size_t>& processes);
  // Of an open file: of an ordinary user who opened it, too.  A set-user-id program inherits what its caller
  // has opened.
  NamesOf(const Context& context, const std::vector<std::size_t>& processes, const File& file);
  NamesOf(std::size_t process, Rights rights);
  ~NamesOf();
  NamesOf(const NamesOf&) = delete;
  NamesOf& operator=(const NamesOf&) = delete;

  static constexpr std::size_t kOwn = ~std::size_t{0};
  // The first of those who have the names now; kOwn: cr_restart itself.
  [[nodiscard]] static std::size_t current();

 private:
  friend struct NamesState;
  friend class OwnNames;
  friend class NamesToCheck;
  // Not inlined: gcc 12 takes the address, which the destructor takes away, for one that is left behind.
  [[gnu::noinline]] NamesOf();
  std::size_t process_;
  std::vector<Rights> rights_;  // empty: the caller's own
  const NamesOf* outer_;
};

// The same for looking only, and before there are user namespaces: those of processes in one are looked at
// with the rights of cr_restart.
class NamesToCheck {
 public:
  NamesToCheck(const Context& context, const std::vector<std::size_t>& processes);
  NamesToCheck(const Context& context, const std::vector<std::size_t>& processes, const File& file);

 private:
  [[nodiscard]] bool look_from_outside(const Context& context, const std::vector<std::size_t>& processes);
  std::optional<NamesOf> names_;
};

// While it lives, names are given by cr_restart's caller (--redirect), to be used with the rights of others:
// they may have any symbolic links in them.
class CallersNames {
 public:
  CallersNames();
  ~CallersNames();
  CallersNames(const CallersNames&) = delete;
  CallersNames& operator=(const CallersNames&) = delete;
};

// Names are cr_restart's own: they come from its user, or lead to what has just been found to be the job's.
class OwnNames {
 public:
  OwnNames() = default;

 private:
  NamesOf names_;
};

// The process whose names these are, for what remembers who made it: quotas of inotify, epoll, pipes, message
// queues and io_uring, who may share a port (SO_REUSEPORT), what a netlink socket may ask for, SO_PEERCRED,
// what packet filters match.
class AsMaker {
 public:
  // `also`: capabilities that the call takes, where the process had them then and has them no more.  Throws
  // Error.
  explicit AsMaker(std::uint64_t also = 0);

 private:
  RightsKept kept_;
};

// All system calls of the restart that make such an object for a process of the job are made so
// (tests/lint/sources sees to that).
template <typename Work>
[[nodiscard]] auto as_maker(const Work& work, std::uint64_t also = 0) {
  const AsMaker maker(also);
  return work();
}

// A file that was open at the checkpoint, opened again.
struct Again {
  const std::string& path;
  int flags;                         // O_*
  std::uint64_t dev = 0, ino = 0;    // at the checkpoint,
  std::uint32_t mode = 0;            // of which the type has to be the same (0: any);
  std::optional<std::uint32_t> uid;  // whose it was
  std::uint64_t created_ns = 0;      // when that was
  int directory = -100;              // AT_FDCWD, or where the path begins
  CreatedPaths* created =
      nullptr;  // of the restart: a mode that is changed for the moment is given back before it is ended
};

// Is it the very file of the checkpoint?  Only of file systems on a device, and of tmpfs, can that be told.
// A number that has been given to another one since does not count: that one is younger.
[[nodiscard]] bool is_same_file(int fd, const Again& again);

namespace names {

// Where the process may not open it any more, because it opened it with other rights or got it from somebody,
// the file of the checkpoint is opened all the same, and no other one.  Throws Error.
[[nodiscard]] UniqueFd open_again(const Again& again);
// For the checks: whether that would open the file of the checkpoint although the process may not.
[[nodiscard]] bool is_there(const Again& again);
// In the same way, into a directory.  Throws Error.
void enter(const Again& again);
// Could all whose names these are open such a file for reading?
[[nodiscard]] bool may_read_all(const cryo_inode& inode);
// fcntl(2), F_SETLEASE: only the owner of a file may, or who may on the whole machine.
[[nodiscard]] int set_lease(int fd, int type);
// The owner of what is made now.
[[nodiscard]] std::uint32_t owner();

// statx(2) of what is open, with the time at which it was made and the id of its mount.
[[nodiscard]] bool look(int fd, struct ::statx& now);
// Do they own it, and so may change what it allows them?
[[nodiscard]] bool are_owner_of(const std::string& path);
// May they give a file to another user?
[[nodiscard]] bool may_give_away();
// Of what is open by O_PATH: the time of modification; mode and owner.
[[nodiscard]] int set_time(int place, const cryo_inode& wanted);
[[nodiscard]] int set_attributes(int place, const cryo_inode& wanted);

// As the system calls of the same names.
[[nodiscard]] UniqueFd open(const std::string& path, int flags, mode_t mode = 0);
[[nodiscard]] UniqueFd open_below(int directory, const std::string& path, int flags, mode_t mode);
// The regular file behind `fd` once more. A lease that is in the way is being broken by that: waits for it,
// for one to three minutes for all files of this process (/proc/sys/fs/lease-break-time); then EWOULDBLOCK.
[[nodiscard]] UniqueFd reopen_regular(int fd, int flags);
// Links and ".." stay in `directory`, as after chroot(2).
[[nodiscard]] UniqueFd open_in_root(int directory, const std::string& path, int flags);
[[nodiscard]] UniqueFd open_regular(
    const std::string& path);  // to look into it: nothing else is opened, not even for a moment
[[nodiscard]] UniqueFd open_fifo(const std::string& path, int flags,
                                 int directory = -100);  // whose pipe is charged to who opens it first
[[nodiscard]] UniqueFd make_temporary(std::string& name_template);
[[nodiscard]] bool make_temporary_directory(std::string& name_template);
[[nodiscard]] UniqueFd make_memfd(const std::string& name);  // in place of a file: of who would own that
[[nodiscard]] int stat(const std::string& path, struct stat& now);
[[nodiscard]] int lstat(const std::string& path, struct stat& now);
[[nodiscard]] int access(const std::string& path, int mode, int flags = 0);
// As access(2), of what is open by O_PATH.
[[nodiscard]] int access_open(int place, int mode);
[[nodiscard]] int unlinkat(int directory, const std::string& name, int flags);
[[nodiscard]] int mkdir(const std::string& path, mode_t mode);
[[nodiscard]] int mkdir_below(int directory, const std::string& path, mode_t mode);
[[nodiscard]] int mkfifo(const std::string& path, mode_t mode);
[[nodiscard]] int chmod(const std::string& path, mode_t mode);
[[nodiscard]] int chown(const std::string& path, uid_t uid, gid_t gid);
[[nodiscard]] int rename(const std::string& from, const std::string& to);
[[nodiscard]] int link(const std::string& from, const std::string& to);
[[nodiscard]] int fchmod(int fd, mode_t mode);
[[nodiscard]] int remove_acl(int fd);  // 0 also where there is none
[[nodiscard]] int fchown(int fd, uid_t uid, gid_t gid);
[[nodiscard]] int chdir(const std::string& path);
[[nodiscard]] int chroot_here();  // to the working directory
[[nodiscard]] int bind(int fd, const sockaddr* address, socklen_t size);
[[nodiscard]] int connect(int fd, const sockaddr* address, socklen_t size);
[[nodiscard]] ssize_t sendmsg(int fd, const msghdr& message, int flags);
[[nodiscard]] UniqueFd mq_open(const std::string& name, int flags, mode_t mode = 0,
                               mq_attr* attributes = nullptr);
[[nodiscard]] int mq_unlink(const std::string& name);
[[nodiscard]] int inotify_add_watch(int fd, const std::string& path, std::uint32_t mask);
[[nodiscard]] int fanotify_mark(int fd, unsigned flags, std::uint64_t mask, const std::string& path);

}  // namespace names
}  // namespace cryo
