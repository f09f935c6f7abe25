// SPDX-License-Identifier: GPL-2.0-only
#include "restart/files/pidfd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <set>

#include "base/error.h"
#include "restart/common/child_end.h"
#include "restart/files/file_kinds.h"
#include "restart/files/files.h"
#include "restart/ns/pid_namespaces.h"

namespace cryo {
namespace {

constexpr unsigned kThread = O_EXCL;  // PIDFD_THREAD

UniqueFd open_pidfd(const File& file, pid_t pid) {
  unsigned flags = file.head.flags & O_NONBLOCK;
  if (file.pidfd->flags & CRYO_PIDFD_THREAD) flags |= kThread;
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, flags)));
  if (!fd) fail_errno("cannot create a pidfd of process {}", pid);
  return fd;
}

// Room for one descriptor in a message.
struct FdMessage {
  FdMessage() {
    header.msg_iov = &vector;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }

  char byte = 0;
  iovec vector{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
};

void send_file(int to, int fd) {
  FdMessage message;
  cmsghdr* head = CMSG_FIRSTHDR(&message.header);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(fd));
  std::memcpy(CMSG_DATA(head), &fd, sizeof(fd));
  if (::sendmsg(to, &message.header, MSG_NOSIGNAL) != 1) fail_errno("cannot pass a pidfd on");
}

// One that arrives wakes one of those who wait in recvmsg(), but all who wait in poll().
void wait_for_message(int from) {
  pollfd poll{from, POLLIN, 0};
  while (::poll(&poll, 1, -1) < 0)
    if (errno != EINTR) fail_errno("cannot wait for a pidfd");
}

// Without taking the message away: it is for all.
UniqueFd receive_file(int from) {
  FdMessage message;
  ssize_t got = 0;
  wait_for_message(from);
  do got = ::recvmsg(from, &message.header, MSG_PEEK | MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  const cmsghdr* head = CMSG_FIRSTHDR(&message.header);
  if (got != 1 || head == nullptr || head->cmsg_type != SCM_RIGHTS) fail_errno("cannot get a pidfd");
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(head), sizeof(fd));
  return UniqueFd(fd);
}

// Those that have it open, and the one that fills an epoll instance which watches it.
std::set<std::size_t> users_of(const Context& context, const KeptBy& kept_by, std::uint32_t id) {
  std::set<std::size_t> users;
  for (const auto& [file, keeper] : kept_by)
    for (const cryo_epoll_target& target : context.file(file).epoll)
      if (target.file == id) users.insert(keeper);
  for (std::size_t i = 0; i < context.processes.size(); ++i)
    for (const cryo_fd& fd : context.processes[i].fds) {
      if (fd.file == id) users.insert(i);
      for (const cryo_epoll_target& target : context.file(fd.file).epoll)
        if (target.file == id && is_first_with(context, context.processes[i], fd.file)) users.insert(i);
    }
  return users;
}

}  // namespace

bool is_late_pidfd(const File& file) {
  return file.head.kind == CRYO_FILE_PIDFD && file.pidfd->pid != 0;
}

UniqueFd GoneProcesses::open(const File& file) {
  auto ended = ended_.find(file.head.inode);
  if (ended == ended_.end()) {
    const pid_t pid = ::fork();
    if (pid < 0) fail_errno("cannot create a process for a pidfd");
    if (pid == 0) ::_exit(0);
    ended = ended_.emplace(file.head.inode, pid).first;
  }
  return open_pidfd(file, ended->second);
}

GoneProcesses::~GoneProcesses() {
  for (const auto& [inode, pid] : ended_) take_away(pid);
}

std::map<std::uint32_t, PidfdSharing> share_pidfds(const Context& context, const KeptBy& kept_by,
                                                   const Descriptors& descriptors) {
  std::map<std::uint32_t, PidfdSharing> all;
  for (const auto& [id, file] : context.files) {
    if (!is_late_pidfd(file)) continue;
    const std::set<std::size_t> users = users_of(context, kept_by, id);
    PidfdSharing& sharing = all[id];
    sharing.users.assign(users.begin(), users.end());
    if (users.size() < 2) continue;
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
      fail_errno("cannot create a pair of sockets");
    UniqueFd in(fds[0]), out(fds[1]);
    sharing.in = descriptors.park(std::move(in));
    sharing.out = descriptors.park(std::move(out));
  }
  return all;
}

// What it makes is sent before it waits for anything.
std::map<std::uint32_t, UniqueFd> take_pidfds(const Context& context, const Descriptors& descriptors,
                                              const std::map<std::uint32_t, PidfdSharing>& sharing,
                                              std::size_t process) {
  std::map<std::uint32_t, UniqueFd> taken;
  for (const auto& [id, shared] : sharing) {
    if (shared.users.empty() || shared.users.front() != process) continue;
    const File& file = context.file(id);
    const pid_t pid = number_in(context, context.processes[process].namespaces.pid, file.pidfd->pid);
    if (pid == 0)
      fail(ESRCH, "a pidfd of process {} cannot be made in another pid namespace", file.pidfd->pid);
    UniqueFd fd = descriptors.park(open_pidfd(file, pid));
    if (shared.in) send_file(shared.in.get(), fd.get());
    taken.emplace(id, std::move(fd));
  }
  for (const auto& [id, shared] : sharing)
    for (std::size_t i = 1; i < shared.users.size(); ++i)
      if (shared.users[i] == process) taken.emplace(id, descriptors.park(receive_file(shared.out.get())));
  return taken;
}

const FileKind kPidfdKind = {.kind = CRYO_FILE_PIDFD,
                             .open = [](FileMaking& making, const File& file,
                                        const FileUse&) { return making.state<GoneProcesses>().open(file); },
                             .begin =
                                 [](FileMaking& making) {
                                   making.store.pidfds = share_pidfds(
                                       making.input.context, making.store.kept_by, making.input.descriptors);
                                 },
                             .is_late = is_late_pidfd};

}  // namespace cryo
