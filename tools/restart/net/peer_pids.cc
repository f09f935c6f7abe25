// SPDX-License-Identifier: GPL-2.0-only
// Who is at the other end of a Unix socket (SO_PEERCRED) is noted when it is connected, by the maker.  The
// process that it was can be named only when it exists again.
#include <cryo/ioctl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "restart/net/sockets.h"

namespace cryo {
namespace {

bool is_listening(const File& file) {
  return file.socket && file.socket->head.family == AF_UNIX;
}

class PeerNamer {
 public:
  PeerNamer(const Context& context, const RestartOptions& options, int handle_fd)
      : context_(context), options_(options), handle_fd_(handle_fd) {}

  void name_peers(const File& file, int fd) const;

 private:
  void set(int fd, std::int32_t saved, std::uint32_t flags) const;

  const Context& context_;
  const RestartOptions& options_;
  int handle_fd_;
};

// Nobody, rather than the maker, when the process is gone or not one of the job.  A job that has not its old ids is one process,
// and this is it.
void PeerNamer::set(int fd, std::int32_t saved, std::uint32_t flags) const {
  const auto& all = context_.processes;
  const bool there = std::any_of(all.begin(), all.end(),
                                 [saved](const Process& process) { return process.head.pid == saved; });
  cryo_peer_pid args{};
  args.size = sizeof(args);
  args.fd = fd;
  args.pid = !there ? 0 : options_.restore_pid ? saved : ::getpid();
  args.flags = flags;
  if (::ioctl(handle_fd_, CRYO_RST_PEER_PID, &args) != 0)
    fail(errno, "cannot make pid {} the peer of the socket at descriptor {}: {}{}", args.pid, fd,
         std::strerror(errno), errno == EPERM ? " (the module's parameter peer_pid is off: ask the administrator)" : "");
}

void PeerNamer::name_peers(const File& file, int fd) const {
  if (is_listening(file)) set(fd, file.socket->head.peer_pid, 0);
  if (file.head.kind != CRYO_FILE_UNIX) return;
  const cryo_sock_state& state = file.connection->head;
  set(fd, state.peer_pid, 0);
  // One that waits to be accepted has no descriptor.
  if (state.state != CRYO_SOCK_CONNECTED) return;
  const File& other = context_.file(state.peer);
  if (other.head.kind == CRYO_FILE_WAITING) set(fd, other.connection->head.peer_pid, CRYO_PEER_PID_OTHER_END);
}

}  // namespace

bool has_peer(const File& file) {
  return is_listening(file) || file.head.kind == CRYO_FILE_UNIX;
}

void name_peers(const Context& context, const RestartOptions& options, const std::map<std::uint32_t, int>& fds,
                int handle_fd) {
  const PeerNamer namer(context, options, handle_fd);
  for (const auto& [id, fd] : fds) {
    const File& file = context.file(id);
    if (has_peer(file)) namer.name_peers(file, fd);
  }
}

}  // namespace cryo
