// SPDX-License-Identifier: GPL-2.0-only
// The parts of the report about descriptors, and about what a restart needs.
#include <fmt/format.h>
#include <sys/socket.h>

#include <map>
#include <set>

#include "base/bytes.h"
#include "context/describe.h"
#include "cr_info/report.h"
#include "cr_info/text.h"

namespace cryo {
namespace {

std::string pipe_text(const Context& context, const File& file) {
  const Pipe& pipe = *context.inode(file.head.inode).pipe;
  std::uint64_t bytes = 0;
  for (const PipePacket& packet : pipe.packets) bytes += packet.data.size();
  return fmt::format("pipe {} with {} waiting", file.head.inode, bytes_text(bytes));
}

std::string filter_text(const File& file) {
  std::string text;
  for (const SocketGroup& group : file.groups)
    text += fmt::format(", in group {} on {}", group_text(group), group.device);
  for (const SocketDevice& device : file.devices)
    if (!device.device.empty()) text += fmt::format(", sends by {}", device.device);
  if (!file.filter) return text;
  if (!file.filter->filter.empty())
    text += fmt::format(", filtered by {} instructions", file.filter->filter.size());
  if (!file.filter->choice.empty())
    text += fmt::format(", one of those that {} instructions choose from", file.filter->choice.size());
  return text;
}

std::string socket_text(const File& file) {
  return fmt::format("socket listening at {}{}", address_text(file.socket->address), filter_text(file));
}

std::string connection_text(const File& file) {
  const cryo_sock_state& head = file.connection->head;
  std::string text = file_kind_name(file.head.kind);
  if (file.connection->name.size() > sizeof(sa_family_t))
    text += fmt::format(" at {}", address_text(file.connection->name));
  if (head.state == CRYO_SOCK_CONNECTED && head.peer == 0)
    text += fmt::format(", connected to {}", address_text(file.connection->peer_name));
  else if (head.state == CRYO_SOCK_CONNECTED)
    text += fmt::format(", connected to file {}", head.peer);
  if (head.state == CRYO_SOCK_PEER_GONE) text += ", whose other end is closed";
  if (head.state == CRYO_SOCK_CONNECTING)
    text += fmt::format(", connecting to {}", address_text(file.connection->peer_name));
  if (head.state == CRYO_SOCK_RESET)
    text += fmt::format(", connected to {}: will be reset", address_text(file.connection->peer_name));
  std::uint64_t bytes = 0;
  for (const SocketMessage& message : file.queue) bytes += message.data.size();
  if (!file.queue.empty()) text += fmt::format(", {} waiting", bytes_text(bytes));
  return text + filter_text(file);
}

std::string eventfd_text(const File& file) {
  return fmt::format("eventfd, count {}{}", file.eventfd->count,
                     file.eventfd->semaphore != 0 ? ", semaphore" : "");
}

std::string timerfd_text(const cryo_timerfd& timer) {
  std::string text = fmt::format("timerfd of {}", clock_name(timer.clockid));
  if (timer.flags & CRYO_TIMERFD_ARMED) text += fmt::format(", {} left", duration_text(timer.remaining_ns));
  if (timer.interval_ns != 0)
    text += fmt::format(", every {}", duration_text(static_cast<std::int64_t>(timer.interval_ns)));
  return text + fmt::format(", expired {} times", timer.ticks);
}

// How many of each have not been taken, as far as the program's own counters can be believed.
std::string uring_text(const cryo_uring& ring) {
  return fmt::format("io_uring of {} and {} entries, {} to submit, {} completions to take", ring.sq_entries,
                     ring.cq_entries, ring.sq_tail - ring.sq_head, ring.cq_tail - ring.cq_head);
}

std::string pty_text(const Pty& pty) {
  return fmt::format("pseudo-terminal {}, {}x{}, with {} to read at the master and {} at the slave",
                     pty.head.number, pty.head.columns, pty.head.rows, bytes_text(pty.output.size()),
                     bytes_text(pty.input.size() + pty.pending.size()));
}

std::string pty_slave_text(const Context& context, const File& file) {
  const std::uint32_t master = file.pty_slave->master;
  if (master == 0) return "terminal that was hung up";
  return fmt::format("slave of pseudo-terminal {} (was {})", context.file(master).pty->head.number,
                     printable(file.path));
}

std::string fifo_text(const Context& context, const File& file) {
  const auto& pipe = context.inode(file.head.inode).pipe;
  std::uint64_t bytes = 0;
  if (pipe)
    for (const PipePacket& packet : pipe->packets) bytes += packet.data.size();
  return fmt::format("FIFO {}{}", printable(file.path),
                     pipe ? fmt::format(" with {} waiting", bytes_text(bytes)) : ", shared with others");
}

std::string path_text(const Context& context, const File& file) {
  std::string text = printable(file.path);
  if (file.head.inode == 0) return text;
  const cryo_inode& inode = context.inode(file.head.inode).head;
  const auto flags = inode_flag_names(inode.flags);
  text += fmt::format(", {} of {}", inode_type_name(inode.mode), bytes_text(inode.size));
  if (!flags.empty()) text += fmt::format(" ({})", join(flags));
  if (const std::uint64_t huge = context.inode(file.head.inode).huge_size; huge != 0)
    text += fmt::format(", in pages of {}", bytes_text(huge));
  if (const auto tagged = tagged_bytes(context, CRYO_PAGES_INODE, file.head.inode); tagged != 0)
    text += fmt::format(", {} with tags", bytes_text(tagged));
  text += fmt::format(", at {}", file.head.pos);
  if (file.head.outside & CRYO_OUTSIDE_SHARED) return text + ", shared with others";
  return text + (file.head.outside & CRYO_OUTSIDE_WRITER ? ", also written to by others" : "");
}

std::string pidfd_text(const cryo_pidfd& pidfd) {
  if (pidfd.pid == 0) return "pidfd of a process that is gone";
  return fmt::format("pidfd of {}{}", pidfd.flags & CRYO_PIDFD_THREAD ? "thread " : "pid ", pidfd.pid);
}

std::string file_text(const Context& context, const File& file) {
  switch (file.head.kind) {
    case CRYO_FILE_PATH:
    case CRYO_FILE_CONTENTS:
    case CRYO_FILE_POSIX_SHM:
    case CRYO_FILE_HUGETLB:
      return path_text(context, file);
    case CRYO_FILE_DEVICE:
      return fmt::format("device {}, reopened", printable(file.path));
    case CRYO_FILE_CLOSED:
      return fmt::format("device {}, not open after a restart", printable(file.path));
    case CRYO_FILE_REMOVED_DIR:
      return fmt::format("removed directory {}", printable(file.path));
    case CRYO_FILE_CTTY:
      return "the controlling terminal, cr_restart's";
    case CRYO_FILE_STDIO:
      return fmt::format("descriptor {} of cr_restart (was {})", file.head.stdio_fd, printable(file.path));
    case CRYO_FILE_PIPE:
      return pipe_text(context, file);
    case CRYO_FILE_EPOLL:
      return fmt::format("epoll of {} descriptors", file.epoll.size());
    case CRYO_FILE_SOCKET:
      return socket_text(file);
    case CRYO_FILE_UNIX:
    case CRYO_FILE_TCP:
    case CRYO_FILE_UDP:
    case CRYO_FILE_RAW:
    case CRYO_FILE_NETLINK:
      return connection_text(file);
    case CRYO_FILE_EVENTFD:
      return eventfd_text(file);
    case CRYO_FILE_TIMERFD:
      return timerfd_text(*file.timerfd);
    case CRYO_FILE_INOTIFY:
      return fmt::format("inotify with {} watches, {} events", file.inotify->watches.size(), file.inotify->events.size());
    case CRYO_FILE_FANOTIFY:
      return fmt::format("fanotify with {} marks", file.fanotify->marks.size());
    case CRYO_FILE_SIGNALFD:
      return fmt::format("signalfd of {}", join(signal_set_names(file.signalfd->mask)));
    case CRYO_FILE_PIDFD:
      return pidfd_text(*file.pidfd);
    case CRYO_FILE_NAMESPACE:
      return fmt::format("namespace {}{}", printable(file.path),
                         static_cast<std::uint32_t>(file.head.pos) == 0 ? " (cr_restart's own)" : "");
    case CRYO_FILE_URING:
      return uring_text(file.uring->head);
    case CRYO_FILE_MQUEUE:
      return fmt::format("message queue {} with {} messages", printable(file.path),
                         context.inode(file.head.inode).mqueue->messages.size());
    case CRYO_FILE_PTY_MASTER:
      return pty_text(*file.pty);
    case CRYO_FILE_PTY_SLAVE:
      return pty_slave_text(context, file);
    case CRYO_FILE_FIFO:
      return fifo_text(context, file);
    default:
      return file_kind_name(file.head.kind);
  }
}

// Whose bytes are needed as they were: those that the context does not hold.
bool by_reference(const Context& context, std::uint32_t file) {
  const cryo_file& head = context.file(file).head;
  return head.kind == CRYO_FILE_PATH && head.inode != 0 &&
         (context.inode(head.inode).head.flags & CRYO_INODE_CONTENTS) == 0;
}

void print_unchanged(const Context& context) {
  std::set<std::string> paths;
  for (const auto& [id, mm] : context.mms)
    for (const cryo_vma& vma : mm.vmas)
      if (vma.kind == CRYO_VMA_FILE && by_reference(context, vma.file))
        paths.insert(printable(context.file(vma.file).path));
  for (const std::string& path : paths) fmt::print("  mapped file  {}, as it was\n", path);
}

void print_present(const Context& context) {
  std::set<std::string> paths;
  for (const Process& process : context.processes)
    for (const cryo_fd& fd : process.fds)
      if (by_reference(context, fd.file)) paths.insert(printable(context.file(fd.file).path));
  for (const std::string& path : paths) fmt::print("  open file    {}\n", path);
}

void print_ids(const Context& context) {
  std::string pids;
  for (const Process& process : context.processes)
    for (const Thread& thread : process.threads) pids += fmt::format(" {}", thread.head.tid);
  fmt::print("  free pids   {}\n", pids);
  for (const Process& process : context.processes)
    if (process.creds)
      fmt::print("  to run as    user {}, group {} (process {})\n", process.creds->head.uid,
                 process.creds->head.gid, process.head.pid);
}

}  // namespace

void print_files(const Context& context, const Process& process) {
  fmt::print("  descriptors  {}\n", process.fds.size());
  for (const cryo_fd& fd : process.fds) {
    const File& file = context.file(fd.file);
    fmt::print("    {:>5}  {} [{}{}]\n", fd.fd, file_text(context, file),
               join(open_flag_names(context.header.arch, file.head.flags)), (fd.flags & CRYO_FD_CLOEXEC) ? " close-on-exec" : "");
  }
  for (const cryo_lock& lock : process.locks)
    fmt::print("    {} of {}\n", lock_text(lock), printable(context.file(lock.file).path));
}

void print_needs(const Context& context) {
  fmt::print("\na restart needs\n");
  fmt::print("  machine      {}, pages of {}\n", arch_name(context.header.arch),
             bytes_text(context.header.page_size));
  print_ids(context);
  std::set<std::string> directories, roots;
  for (const Process& process : context.processes) {
    if (process.cwd) directories.insert(process.cwd->path);
    for (const Thread& thread : process.threads)
      if (thread.root) roots.insert(thread.root->path);
  }
  for (const std::string& path : directories) fmt::print("  directory    {}\n", printable(path));
  for (const std::string& path : roots) fmt::print("  root         {}\n", printable(path));
  print_unchanged(context);
  print_present(context);
}

}  // namespace cryo
