// SPDX-License-Identifier: GPL-2.0-only
#include "cr_info/file_text.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "context/describe.h"
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

std::string socket_text(const Context&, const File& file) {
  return fmt::format("socket listening at {}{}", address_text(file.socket->address), filter_text(file));
}

std::string connection_text(const Context&, const File& file) {
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

std::string eventfd_text(const Context&, const File& file) {
  return fmt::format("eventfd, count {}{}", file.eventfd->count,
                     file.eventfd->semaphore != 0 ? ", semaphore" : "");
}

std::string timerfd_text(const Context&, const File& file) {
  const cryo_timerfd& timer = *file.timerfd;
  std::string text = fmt::format("timerfd of {}", clock_name(timer.clockid));
  if (timer.flags & CRYO_TIMERFD_ARMED) text += fmt::format(", {} left", duration_text(timer.remaining_ns));
  if (timer.interval_ns != 0)
    text += fmt::format(", every {}", duration_text(static_cast<std::int64_t>(timer.interval_ns)));
  return text + fmt::format(", expired {} times", timer.ticks);
}

// How many of each have not been taken, as far as the program's own counters can be believed.
std::string uring_text(const Context&, const File& file) {
  const cryo_uring& ring = file.uring->head;
  return fmt::format("io_uring of {} and {} entries, {} to submit, {} completions to take", ring.sq_entries,
                     ring.cq_entries, ring.sq_tail - ring.sq_head, ring.cq_tail - ring.cq_head);
}

std::string pty_text(const Context&, const File& file) {
  const Pty& pty = *file.pty;
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

std::string pidfd_text(const Context&, const File& file) {
  const cryo_pidfd& pidfd = *file.pidfd;
  if (pidfd.pid == 0) return "pidfd of a process that is gone";
  return fmt::format("pidfd of {}{}", pidfd.flags & CRYO_PIDFD_THREAD ? "thread " : "pid ", pidfd.pid);
}

std::string device_text(const Context&, const File& file) {
  return fmt::format("device {}, reopened", printable(file.path));
}

std::string closed_text(const Context&, const File& file) {
  return fmt::format("device {}, not open after a restart", printable(file.path));
}

std::string removed_directory_text(const Context&, const File& file) {
  return fmt::format("removed directory {}", printable(file.path));
}

std::string terminal_text(const Context&, const File&) {
  return "the controlling terminal, cr_restart's";
}

std::string stdio_text(const Context&, const File& file) {
  return fmt::format("descriptor {} of cr_restart (was {})", file.head.stdio_fd, printable(file.path));
}

std::string epoll_text(const Context&, const File& file) {
  return fmt::format("epoll of {} descriptors", file.epoll.size());
}

std::string inotify_text(const Context&, const File& file) {
  return fmt::format("inotify with {} watches, {} events", file.inotify->watches.size(),
                     file.inotify->events.size());
}

std::string fanotify_text(const Context&, const File& file) {
  return fmt::format("fanotify with {} marks", file.fanotify->marks.size());
}

std::string signalfd_text(const Context&, const File& file) {
  return fmt::format("signalfd of {}", join(signal_set_names(file.signalfd->mask)));
}

std::string namespace_text(const Context&, const File& file) {
  return fmt::format("namespace {}{}", printable(file.path),
                     static_cast<std::uint32_t>(file.head.pos) == 0 ? " (cr_restart's own)" : "");
}

std::string mqueue_text(const Context& context, const File& file) {
  return fmt::format("message queue {} with {} messages", printable(file.path),
                     context.inode(file.head.inode).mqueue->messages.size());
}

// Its name, as there is nothing more to say.
std::string name_text(const Context&, const File& file) {
  return file_kind_name(file.head.kind);
}

constexpr FileKindText kTexts[] = {
    {CRYO_FILE_PATH, path_text},
    {CRYO_FILE_CONTENTS, path_text},
    {CRYO_FILE_POSIX_SHM, path_text},
    {CRYO_FILE_HUGETLB, path_text},
    {CRYO_FILE_DEVICE, device_text},
    {CRYO_FILE_CLOSED, closed_text},
    {CRYO_FILE_REMOVED_DIR, removed_directory_text},
    {CRYO_FILE_CTTY, terminal_text},
    {CRYO_FILE_STDIO, stdio_text},
    {CRYO_FILE_PIPE, pipe_text},
    {CRYO_FILE_FIFO, fifo_text},
    {CRYO_FILE_EPOLL, epoll_text},
    {CRYO_FILE_SOCKET, socket_text},
    {CRYO_FILE_UNIX, connection_text},
    {CRYO_FILE_TCP, connection_text},
    {CRYO_FILE_UDP, connection_text},
    {CRYO_FILE_RAW, connection_text},
    {CRYO_FILE_NETLINK, connection_text},
    {CRYO_FILE_EVENTFD, eventfd_text},
    {CRYO_FILE_TIMERFD, timerfd_text},
    {CRYO_FILE_INOTIFY, inotify_text},
    {CRYO_FILE_FANOTIFY, fanotify_text},
    {CRYO_FILE_SIGNALFD, signalfd_text},
    {CRYO_FILE_PIDFD, pidfd_text},
    {CRYO_FILE_NAMESPACE, namespace_text},
    {CRYO_FILE_URING, uring_text},
    {CRYO_FILE_MQUEUE, mqueue_text},
    {CRYO_FILE_PTY_MASTER, pty_text},
    {CRYO_FILE_PTY_SLAVE, pty_slave_text},
    {CRYO_FILE_SYSV, name_text},
    {CRYO_FILE_WAITING, name_text},
    {CRYO_FILE_CLIENT, name_text},
    {CRYO_FILE_REQUEST, name_text},
    {CRYO_FILE_OUTPUT, name_text},
};

}  // namespace

const std::span<const FileKindText> kFileKindTexts = kTexts;

std::string file_text(const Context& context, const File& file) {
  for (const FileKindText& text : kTexts)
    if (text.kind == file.head.kind) return text.text(context, file);
  return name_text(context, file);
}

}  // namespace cryo
