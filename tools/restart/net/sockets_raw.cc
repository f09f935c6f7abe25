// SPDX-License-Identifier: GPL-2.0-only
// Raw and ping sockets. They get packets from the moment at which they exist: what came before they were as
// before is thrown away.
#include <linux/capability.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/error.h"
#include "restart/common/helper_process.h"
#include "restart/net/sockets.h"
#include "restart/ns/namespaces.h"

namespace cryo {
namespace {

constexpr std::uint64_t kRawCapability = std::uint64_t{1} << CAP_NET_RAW;

bool is_raw(const File& file) {
  return file.head.kind == CRYO_FILE_RAW;
}

const char* raw_kind(const SocketState& state) {
  return state.head.type == SOCK_RAW ? "raw" : "ping";
}

void clear_address(Bytes& name, std::uint32_t family) {
  const std::size_t start =
      family == AF_INET6 ? offsetof(sockaddr_in6, sin6_addr) : offsetof(sockaddr_in, sin_addr);
  const std::size_t size = family == AF_INET6 ? sizeof(in6_addr) : sizeof(in_addr);
  std::fill_n(name.begin() + static_cast<std::ptrdiff_t>(start), size, std::byte{});
}

bool is_bound_to_address(const Bytes& name, std::uint32_t family) {
  Bytes cleared = name;
  clear_address(cleared, family);
  return cleared != name;
}

bool has_ident(const Bytes& name) {
  in_port_t port = 0;
  std::memcpy(&port, &name[offsetof(sockaddr_in, sin_port)],
              sizeof(port));  // at the same place in both families
  return port != 0;
}

// An address that connect() chose is chosen again, where it is not there any more.
void bind_raw(int fd, const SocketState& state) {
  const cryo_sock_state& head = state.head;
  Bytes name = state.name;
  if (head.flags & CRYO_SOCK_STATE_ANY_ADDRESS) clear_address(name, head.family);
  const bool needed = is_bound_to_address(name, head.family) || (head.type != SOCK_RAW && has_ident(name));
  constexpr int kOn = 1;
  if (!needed) return;
  if ((head.flags & CRYO_SOCK_STATE_FREEBIND) != 0 && head.family == AF_INET &&
      ::setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &kOn, sizeof(kOn)) != 0)
    fail_errno("cannot set IP_FREEBIND of a {} socket", raw_kind(state));
  if (::bind(fd, raw(name), static_cast<socklen_t>(name.size())) == 0) return;
  if (errno != EADDRNOTAVAIL || head.state != CRYO_SOCK_CONNECTED || head.type != SOCK_RAW)
    fail_errno("cannot bind a {} socket to its address", raw_kind(state));
}

// While none can come.
void throw_away_packets(int fd) {
  char byte = 0;
  while (::recv(fd, &byte, sizeof(byte), MSG_DONTWAIT | MSG_TRUNC) >= 0) {
  }
}

}  // namespace

void Sockets::make_raw() {
  for (const auto& [id, file] : input_.context.files) {
    if (!is_raw(file)) continue;
    const SocketState& state = *file.connection;
    const NamesOf maker = NamesOf::maker_of(input_.context, file.head.inode);
    UniqueFd fd = input_.namespaces.socket(file.net, static_cast<int>(state.head.family),
                                           static_cast<int>(state.head.type),
                                           static_cast<int>(state.head.protocol), kRawCapability);
    // Whoever sends such packets would keep it from ever being empty.
    drop_all(fd.get());
    set_socket_options(fd.get(), file);
    bind_raw(fd.get(), state);
    if (state.head.state == CRYO_SOCK_CONNECTED &&
        ::connect(fd.get(), raw(state.peer_name), static_cast<socklen_t>(state.peer_name.size())) != 0)
      fail_errno("cannot connect a {} socket", raw_kind(state));
    keep(id, std::move(fd));
  }
}

void Sockets::finish_raw(const FileLookup& lookup) {
  for (const auto& [id, file] : input_.context.files) {
    if (!is_raw(file)) continue;
    throw_away_packets(lookup(id));
    // One filter takes the place of another.
    if (!file.filter || file.filter->filter.empty()) stop_dropping(lookup(id));
    attach_filter(lookup(id), file);
  }
}

std::string raw_problem(const Context& context, const File& file, int& code) {
  // Who makes a network namespace has the capability there.
  if (!is_raw(file) || file.net != 0) return "";
  const cryo_sock_state& head = file.connection->head;
  const NamesOf maker = NamesOf::maker_of(context, file.head.inode);
  const int family = static_cast<int>(head.family), type = static_cast<int>(head.type) | SOCK_CLOEXEC;
  const int protocol = static_cast<int>(head.protocol);
  // Whose user this process is for a moment may stop it.
  UniqueFd probe;
  try {
    probe = in_helper_process([&] {
      UniqueFd fd(as_maker([&] { return ::socket(family, type, protocol); }, kRawCapability));
      if (!fd) fail_errno("socket");
      return fd;
    });
  } catch (const Error& error) {
    code = error.code();
  }
  if (probe) return bind_raw(probe.get(), *file.connection), "";
  return fmt::format("a {} socket cannot be made: {}: {}", raw_kind(*file.connection), errno_text(code),
                     head.type == SOCK_RAW ? "it requires CAP_NET_RAW: restart it as root"
                                           : "/proc/sys/net/ipv4/ping_group_range says which groups may");
}

}  // namespace cryo
