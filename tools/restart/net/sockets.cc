// SPDX-License-Identifier: GPL-2.0-only
#include "restart/net/sockets.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "restart/rights/credentials.h"

namespace cryo {
namespace {

// The others have got their filters before anything could come to them.
bool filters_late(const File& file) {
  return file.connection ? file.head.kind == CRYO_FILE_UNIX || file.head.kind == CRYO_FILE_TCP
                         : file.socket && file.socket->head.family == AF_UNIX;
}

}  // namespace

void Sockets::keep(std::uint32_t file, UniqueFd fd) {
  fds_.insert_or_assign(file, input_.descriptors.park(std::move(fd)));
}

UniqueFd Sockets::take(std::uint32_t file) {
  const auto found = fds_.find(file);
  if (found == fds_.end()) fail(EBADMSG, "file {}: no such socket", file);
  UniqueFd fd = std::move(found->second);
  fds_.erase(found);
  return fd;
}

void Sockets::make() {
  make_unix();
  make_tcp();
  make_udp();
  make_raw();
  make_netlink();
}

void Sockets::finish(const FileLookup& lookup) {
  finish_udp(lookup);  // while nothing has them but their descriptors: messages may carry them
  finish_unix(lookup);
  finish_tcp(lookup);
  for (const auto& [id, file] : input_.context.files)
    if ((file.connection || file.socket) && file.head.kind != CRYO_FILE_WAITING)
      set_socket_options(lookup(id), file);
  for (const auto& [id, file] : input_.context.files)
    if (!file.groups.empty()) join_groups(lookup(id), file);
  for (const auto& [id, file] : input_.context.files)
    if (file.connection) shut_down(file, lookup);
  for (const auto& [id, fd] : peers_)
    if (const File& file = input_.context.file(id);
        file.head.kind == CRYO_FILE_WAITING && file.connection->head.family == AF_UNIX)
      clear_peer_pid(input_.handle_fd, fd.get());
  peers_.clear();
  for (const auto& [id, file] : input_.context.files) {
    if (file.head.kind == CRYO_FILE_WAITING || !file.filter) continue;
    if (filters_late(file)) attach_filter(lookup(id), file);
    attach_choice(lookup(id), file);
  }
  finish_raw(lookup);  // now nothing comes that is not for them
  unix_names_.finish();
}

void Sockets::shut_down(const File& file, const FileLookup& lookup) {
  const cryo_sock_state& head = file.connection->head;
  if (file.head.kind == CRYO_FILE_WAITING || head.shutdown == 0) return;
  // What the end of the other side does by itself is left to it.
  const int how = head.shutdown == 3 ? SHUT_RDWR : head.shutdown == 1 ? SHUT_RD : SHUT_WR;
  if (head.state == CRYO_SOCK_PEER_GONE && head.family == AF_UNIX && head.type != SOCK_DGRAM) return;
  if (::shutdown(lookup(file.id), how) != 0 && errno != ENOTCONN) fail_errno("cannot shut a socket down");
}

}  // namespace cryo
