// SPDX-License-Identifier: GPL-2.0-only
// UDP sockets: bound, filled with what waited in them, and only then connected, because what they were sent
// before may be from others.
#include <cryo/ioctl.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>

#include "base/error.h"
#include "restart/net/sockets.h"
#include "restart/ns/namespaces.h"

namespace cryo {
namespace {

bool is_udp(const File& file) {
  return file.head.kind == CRYO_FILE_UDP;
}

// The name with no address but the port.
Bytes any_address(Bytes name, std::uint32_t family) {
  const std::size_t start =
      family == AF_INET6 ? offsetof(sockaddr_in6, sin6_addr) : offsetof(sockaddr_in, sin_addr);
  const std::size_t size = family == AF_INET6 ? sizeof(in6_addr) : sizeof(in_addr);
  if (name.size() < start + size) return name;
  std::fill_n(name.begin() + static_cast<std::ptrdiff_t>(start), size, std::byte{});
  return name;
}

bool has_port(const Bytes& name) {
  constexpr std::size_t kPort = offsetof(sockaddr_in, sin_port);  // at the same place in both families
  return name.size() > kPort + 1 && (name[kPort] != std::byte{} || name[kPort + 1] != std::byte{});
}

bool has_same_port(const File& a, const File& b) {
  constexpr std::size_t kPort = offsetof(sockaddr_in, sin_port);
  return a.net == b.net && has_port(a.connection->name) && has_port(b.connection->name) &&
         std::equal(&a.connection->name[kPort], &a.connection->name[kPort] + 2, &b.connection->name[kPort]);
}

void set_for_bind(int fd, int level, int name) {
  constexpr int kOn = 1;
  if (::setsockopt(fd, level, name, &kOn, sizeof(kOn)) != 0)
    fail_errno("cannot set option {} of level {} of a UDP socket", name, level);
}

}  // namespace

// What it was bound with may have been cleared since: options have their values of the checkpoint in the end.
void bind_udp(int fd, const SocketState& state) {
  if (!has_port(state.name)) return;
  if (state.head.flags & CRYO_SOCK_STATE_FREEBIND) set_for_bind(fd, IPPROTO_IP, IP_FREEBIND);
  if (state.head.flags & CRYO_SOCK_STATE_REUSEPORT) set_for_bind(fd, SOL_SOCKET, SO_REUSEPORT);
  const bool any = state.head.flags & CRYO_SOCK_STATE_ANY_ADDRESS;
  const Bytes name = any ? any_address(state.name, state.head.family) : state.name;
  if (::bind(fd, raw(name), static_cast<socklen_t>(name.size())) != 0)
    fail_errno("cannot bind a UDP socket to port {}",
               ntohs(reinterpret_cast<const sockaddr_in*>(raw(name))->sin_port));
}

namespace {

cryo_datagram datagram_for(int fd) {
  cryo_datagram args{};
  args.size = sizeof(args);
  args.fd = fd;
  return args;
}

// Who looks at /proc/PID/fd meanwhile has a socket for a moment, too.
int put(int handle_fd, const cryo_datagram& args) {
  constexpr int kTries = 100;
  constexpr timespec kPause{0, 10'000'000};
  int result = ::ioctl(handle_fd, CRYO_RST_DATAGRAM, &args);
  for (int i = 0; result != 0 && errno == EBUSY && i < kTries; ++i) {
    ::nanosleep(&kPause, nullptr);
    result = ::ioctl(handle_fd, CRYO_RST_DATAGRAM, &args);
  }
  return result == 0 ? 0 : errno;
}

const char* why_refused(int error) {
  if (error == EPERM) return " (see the module's parameter datagrams)";
  if (error == EBUSY) return " (another process has it open)";
  return error == EOPNOTSUPP ? " (cr_info --check)" : "";
}

void put_back(int handle_fd, int fd, const SocketMessage& message) {
  cryo_udp_origin origin;
  std::memcpy(&origin, message.name.data(), sizeof(origin));
  cryo_datagram args = datagram_for(fd);
  args.data = reinterpret_cast<std::uint64_t>(message.data.data());
  args.length = static_cast<std::uint32_t>(message.data.size());
  std::copy(std::begin(origin.from), std::end(origin.from), args.from);
  std::copy(std::begin(origin.to), std::end(origin.to), args.to);
  args.family = origin.family;
  args.from_port = origin.from_port;
  args.to_port = origin.to_port;
  args.tos = origin.tos;
  args.ttl = origin.ttl;
  args.ifindex = origin.ifindex;
  args.time_ns = origin.time_ns;
  if (const int error = put(handle_fd, args); error != 0)
    fail(error, "cannot put a datagram of {} bytes back into the queue of a socket: {}{}", args.length,
         errno_text(error), why_refused(error));
}

bool is_connected(const SocketState& state) {
  return state.head.state == CRYO_SOCK_CONNECTED;
}

void connect_udp(int fd, const File& file) {
  const Bytes& peer = file.connection->peer_name;
  if (::connect(fd, raw(peer), static_cast<socklen_t>(peer.size())) != 0)
    fail_errno("cannot connect a UDP socket");
  // One filter takes the place of another.
  if (!file.filter || file.filter->filter.empty()) stop_dropping(fd);
  attach_filter(fd, file);
}

}  // namespace

void Sockets::make_udp() {
  std::vector<const File*> files = sockets_by_place(input_.context);
  std::erase_if(files, [](const File* file) { return !is_udp(*file); });
  for (auto at = files.begin(); at != files.end(); ++at) {
    const File& file = **at;
    const SocketState& state = *file.connection;
    const NamesOf maker = NamesOf::maker_of(input_.context, file.head.inode);
    UniqueFd fd =
        input_.namespaces.socket(file.net, static_cast<int>(state.head.family), SOCK_DGRAM, IPPROTO_UDP);
    // Who may have the same port, and on which interface, is asked by bind().
    set_socket_options(fd.get(), file);
    // To a connected one, only its peer may send.
    if (is_connected(state))
      drop_all(fd.get());
    else
      attach_filter(fd.get(), file);
    // Among those of the job; who else has the port is still in the way of the first one.
    const auto shares = [&](const File* other) { return other != &file && has_same_port(file, *other); };
    const bool later = std::any_of(files.begin(), at, shares);
    if (later) set_for_bind(fd.get(), SOL_SOCKET, SO_REUSEADDR);
    bind_udp(fd.get(), state);
    if (later || std::any_of(at, files.end(), shares)) set_for_bind(fd.get(), SOL_SOCKET, SO_REUSEADDR);
    keep(file.id, std::move(fd));
  }
}

void Sockets::finish_udp(const FileLookup& lookup) {
  for (const auto& [id, file] : input_.context.files) {
    if (!is_udp(file)) continue;
    const SocketState& state = *file.connection;
    const int fd = lookup(id);
    if (!file.queue.empty()) raise_receive_buffer(fd);
    for (const SocketMessage& message : file.queue) put_back(input_.handle_fd, fd, message);
    if (is_connected(state)) connect_udp(fd, file);
    if (state.head.error == 0) continue;
    cryo_datagram args = datagram_for(fd);
    args.error = state.head.error;
    if (const int error = put(input_.handle_fd, args); error != 0)
      fail(error, "cannot set the error {} of a socket: {}{}", args.error, errno_text(error),
           why_refused(error));
  }
}

}  // namespace cryo
