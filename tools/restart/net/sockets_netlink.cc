// SPDX-License-Identifier: GPL-2.0-only
// Netlink sockets: at their other end is the kernel, as before.
#include <linux/netlink.h>
#include <sys/socket.h>

#include <cstring>

#include "base/error.h"
#include "restart/net/sockets.h"
#include "restart/ns/namespaces.h"

namespace cryo {
namespace {

sockaddr_nl address_of(const Bytes& name) {
  sockaddr_nl address{};
  std::memcpy(&address, name.data(), std::min(name.size(), sizeof(address)));
  return address;
}

void bind_netlink(int fd, const SocketState& state) {
  const sockaddr_nl name = address_of(state.name);
  if (name.nl_pid == 0 && name.nl_groups == 0) return;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0)
    fail_errno("cannot bind to port {} and groups {:#x} of netlink protocol {}", name.nl_pid, name.nl_groups,
               state.head.protocol);
}

void connect_netlink(int fd, const SocketState& state) {
  const sockaddr_nl peer = address_of(state.peer_name);
  if (peer.nl_pid == 0 && peer.nl_groups == 0) return;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&peer), sizeof(peer)) != 0)
    fail_errno("cannot connect to port {} of netlink protocol {}", peer.nl_pid, state.head.protocol);
}

}  // namespace

void Sockets::make_netlink() {
  for (const auto& [id, file] : input_.context.files) {
    if (file.head.kind != CRYO_FILE_NETLINK) continue;
    const SocketState& state = *file.connection;
    const NamesOf maker = NamesOf::maker_of(input_.context, file.head.inode);
    UniqueFd fd = input_.namespaces.socket(file.net, AF_NETLINK, static_cast<int>(state.head.type),
                                           static_cast<int>(state.head.protocol));
    attach_filter(fd.get(), file);
    bind_netlink(fd.get(), state);
    connect_netlink(fd.get(), state);
    keep(id, std::move(fd));
  }
}

}  // namespace cryo
