// SPDX-License-Identifier: GPL-2.0-only
// TCP connections: both ends are made here and connected by the loopback of the machine.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "restart/net/lingering.h"
#include "restart/net/sockets.h"
#include "restart/ns/namespaces.h"

namespace cryo {
namespace {

constexpr int kPortTries = 350;          // of 200 ms: what an earlier life has left is gone after a minute
constexpr int kLocalPortRange = 51;      // IP_LOCAL_PORT_RANGE
constexpr std::uint64_t kSmall = 50000;  // bytes that fit into any connection

// A raw socket may have this protocol, too.
bool is_tcp(const File& file) {
  return file.connection && file.connection->head.type == SOCK_STREAM &&
         file.connection->head.protocol == IPPROTO_TCP;
}

bool is_waiting(const File& file) {
  return file.head.kind == CRYO_FILE_WAITING;
}

// Or its other end is not known any more, and will seem to have reset it.
bool was_reset(const SocketState& state) {
  switch (state.head.state) {
    case CRYO_SOCK_UNCONNECTED:
    case CRYO_SOCK_CONNECTED:
    case CRYO_SOCK_CONNECTING:
      return false;
    case CRYO_SOCK_PEER_GONE:
      return state.peer_name.empty();
    default:
      return true;
  }
}

socklen_t size_of(const Bytes& bytes) {
  return static_cast<socklen_t>(bytes.size());
}

std::uint16_t port_of(const Bytes& name) {
  std::uint16_t port = 0;  // at the same place in both families
  if (name.size() >= sizeof(sockaddr_in))
    std::memcpy(&port, name.data() + offsetof(sockaddr_in, sin_port), sizeof(port));
  return ntohs(port);
}

std::uint64_t waiting_bytes(const File& file) {
  std::uint64_t bytes = 0;
  for (const SocketMessage& message : file.queue) bytes += message.data.size();
  return bytes;
}

void set_flag(int fd, int level, int name, int value) {
  if (::setsockopt(fd, level, name, &value, sizeof(value)) != 0)
    fail_errno("cannot set option {} of level {} of a socket", name, level);
}

// Whose it is, and so who may share its port, is whose it was.
UniqueFd new_socket(const FileRestoreInput& input, const File& file) {
  const cryo_sock_state& head = file.connection->head;
  const NamesOf maker = NamesOf::maker_of(input.context, file.head.inode);
  UniqueFd fd = input.namespaces.socket(file.net, static_cast<int>(head.family), static_cast<int>(head.type),
                                        static_cast<int>(head.protocol));
  set_flag(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (head.family == AF_INET6) {
    const auto only = saved_option(file.options, IPPROTO_IPV6, IPV6_V6ONLY);
    set_flag(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, only.value_or(0));
  }
  // Not to be set when it is connected.
  for (const int name : {TCP_FASTOPEN, TCP_FASTOPEN_NO_COOKIE})
    if (const int value =
            saved_option(file.options, IPPROTO_TCP, static_cast<std::uint32_t>(name)).value_or(0);
        value != 0)
      set_flag(fd.get(), IPPROTO_TCP, name, value);
  return fd;
}

// Asks again while connections of the earlier life linger.
template <typename Call>
void patiently(const char* what, std::uint16_t port, Call&& call) {
  for (int attempt = 1; call() != 0; ++attempt) {
    const bool lingers = errno == EADDRINUSE || errno == EADDRNOTAVAIL;
    if (!lingers || attempt == kPortTries) fail_errno("cannot {} port {} again", what, port);
    ::usleep(200000);
  }
}

sockaddr_in6 ipv6_name(const Bytes& name) {
  sockaddr_in6 result{};
  std::memcpy(&result, name.data(), std::min(name.size(), sizeof(result)));
  return result;
}

// The kernel sets IPV6_V6ONLY of a socket that is bound to an IPv6 address: one that lacks it was bound to
// its port alone, and has the address from its connection.
Bytes name_to_bind(const File& file, const Bytes& name) {
  if (file.connection->head.family != AF_INET6 || name.size() < sizeof(sockaddr_in6) ||
      saved_option(file.options, IPPROTO_IPV6, IPV6_V6ONLY).value_or(1) != 0)
    return name;
  sockaddr_in6 any = ipv6_name(name);
  if (IN6_IS_ADDR_V4MAPPED(&any.sin6_addr)) return name;
  any.sin6_addr = in6addr_any;
  any.sin6_scope_id = 0;
  Bytes result(name.size());
  std::memcpy(result.data(), &any, sizeof(any));
  return result;
}

Bytes end_name(int fd, bool of_peer) {
  sockaddr_in6 name{};
  socklen_t size = sizeof(name);
  auto* const to = reinterpret_cast<sockaddr*>(&name);
  if ((of_peer ? ::getpeername(fd, to, &size) : ::getsockname(fd, to, &size)) != 0) return {};
  Bytes bytes(std::min<std::size_t>(size, sizeof(name)));
  std::memcpy(bytes.data(), &name, bytes.size());
  return bytes;
}

Bytes local_name(int fd) {
  return end_name(fd, false);
}

Bytes peer_name(int fd) {
  return end_name(fd, true);
}

bool limit_choice(int fd, std::uint32_t port) {
  const std::uint32_t range = port << 16 | port;
  return ::setsockopt(fd, IPPROTO_IP, kLocalPortRange, &range, sizeof(range)) == 0;
}

bool bind_to_any_port(int fd, const Bytes& name) {
  Bytes any_port = name;
  any_port.at(offsetof(sockaddr_in, sin_port)) = {};
  any_port.at(offsetof(sockaddr_in, sin_port) + 1) = {};
  return ::bind(fd, raw(any_port), size_of(any_port)) == 0;
}

// By connect() a port can be had again earlier than by bind(), where the kernel lets the caller choose it.
// `probe`, another one like it: a port out of the range that the kernel chooses from is not heeded, and who
// has called from another one has been heard.
bool choose_port(int fd, int probe, const Bytes& name) {
  const std::uint16_t port = port_of(name);
  if (!limit_choice(fd, port) || !limit_choice(probe, port)) return false;
  if (bind_to_any_port(probe, name) && port_of(local_name(probe)) != port) return false;
  set_flag(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  return bind_to_any_port(fd, name);
}

void forget_choice(int fd) {
  const std::uint32_t none = 0;
  (void)::setsockopt(fd, IPPROTO_IP, kLocalPortRange, &none, sizeof(none));
}

// As one family has it.
sockaddr_in6 in_one_family(const Bytes& name) {
  sockaddr_in6 result = ipv6_name(name);
  if (result.sin6_family != AF_INET) return result;
  const auto address = reinterpret_cast<const sockaddr_in&>(result).sin_addr.s_addr;
  result.sin6_addr = {};
  result.sin6_addr.s6_addr[10] = result.sin6_addr.s6_addr[11] = 0xff;
  std::memcpy(&result.sin6_addr.s6_addr[12], &address, sizeof(address));
  return result;
}

// Address and port, of which one may be another family's.
bool is_same_end(const Bytes& a, const Bytes& b) {
  if (a.empty() || b.empty() || port_of(a) != port_of(b)) return false;
  const sockaddr_in6 one = in_one_family(a), other = in_one_family(b);
  return IN6_ARE_ADDR_EQUAL(&one.sin6_addr, &other.sin6_addr);
}

UniqueFd accept_as(const FileRestoreInput& input, const File& file, int listener) {
  const NamesOf maker = NamesOf::maker_of(input.context, file.head.inode);
  return UniqueFd(as_maker([&] { return ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC); }));
}

// What `caller` has called.  Others may have been faster: calls of ours that were given up, and strangers'.
UniqueFd accept_from(const FileRestoreInput& input, const File& file, int listener, int caller) {
  using std::chrono::steady_clock;
  const steady_clock::time_point end =
      steady_clock::now() + std::chrono::seconds(10);  // it is connected already
  const Bytes name = local_name(caller);
  for (;;) {
    pollfd ready{listener, POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now()).count();
    const int calls = left <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(left));
    if (calls == -1 && errno == EINTR) continue;
    if (calls <= 0) return errno = calls == 0 ? ETIMEDOUT : errno, UniqueFd();
    UniqueFd fd = accept_as(input, file, listener);
    if (!fd || is_same_end(peer_name(fd.get()), name)) return fd;
  }
}

// Not more than there is room for, while strangers call.
void drop_calls(const FileRestoreInput& input, const File& file, int listener) {
  pollfd ready{listener, POLLIN, 0};
  for (int i = 0; i < SOMAXCONN && listener >= 0 && ::poll(&ready, 1, 0) > 0; ++i)
    if (!accept_as(input, file, listener)) return;
}

// Address and port; of IPv6 without flow label and scope, which getsockname(2) may tell in another way.
bool is_same_name(const Bytes& a, const Bytes& b) {
  if (port_of(a) != port_of(b) || a.size() != b.size()) return false;
  if (a.size() < sizeof(sockaddr_in6)) return a == b;
  const sockaddr_in6 one = ipv6_name(a), other = ipv6_name(b);
  return IN6_ARE_ADDR_EQUAL(&one.sin6_addr, &other.sin6_addr);
}

// By a socket with SO_REUSEADDR.
int bind_to(const FileRestoreInput& input, int fd, const Bytes& name, bool wait = true) {
  return bind_to_lingering(input.handle_fd, fd, raw(name), size_of(name), port_of(name), wait);
}

// How a caller gets its address and port.
struct Calling {
  bool choose;   // the port by connect(2), not by bind(2)
  bool address;  // bound to the address, also where the port alone was
  bool wait;     // for connections that linger at the port
};

UniqueFd call_once(const FileRestoreInput& input, const File& file, const Bytes& from, const Bytes& to,
                   Calling how) {
  UniqueFd fd = new_socket(input, file);
  if (waiting_bytes(file) > kSmall) raise_receive_buffer(fd.get());
  const Bytes name = how.address ? from : name_to_bind(file, from);
  const bool chosen =
      !from.empty() && how.choose && choose_port(fd.get(), new_socket(input, file).get(), name);
  if (!from.empty() && !chosen && bind_to(input, fd.get(), name, how.wait) != 0) return UniqueFd();
  if (::connect(fd.get(), raw(to), size_of(to)) != 0) return UniqueFd();
  forget_choice(fd.get());
  if (!from.empty() && !is_same_name(local_name(fd.get()), from)) {
    errno = EADDRINUSE;  // routes have changed
    return UniqueFd();
  }
  return fd;
}

// Would a call that is bound to a port alone come from there?  A datagram socket tells, and nobody is called.
bool comes_from(const FileRestoreInput& input, const File& file, const Bytes& from, const Bytes& to) {
  const NamesOf maker = NamesOf::maker_of(input.context, file.head.inode);
  const UniqueFd probe =
      input.namespaces.socket(file.net, static_cast<int>(file.connection->head.family), SOCK_DGRAM, 0);
  if (::connect(probe.get(), raw(to), size_of(to)) != 0) return true;
  const sockaddr_in6 one = in_one_family(local_name(probe.get())), other = in_one_family(from);
  return IN6_ARE_ADDR_EQUAL(&one.sin6_addr, &other.sin6_addr);
}

// `listener`: the one that is called, if it has nothing else to accept.
UniqueFd call_from(const FileRestoreInput& input, const File& file, const Bytes& from, const Bytes& to,
                   int listener = -1) {
  const bool address = !from.empty() && !comes_from(input, file, from, to);
  UniqueFd fd;
  unsigned attempt = 0;
  patiently("use", port_of(from), [&] {
    fd = call_once(input, file, from, to, {(attempt & 1) == 0, address || (attempt & 2) != 0, true});
    ++attempt;
    if (!fd) {
      const int error = errno;
      drop_calls(input, file, listener);
      errno = error;
    }
    return fd ? 0 : -1;
  });
  return fd;
}

// The other end's own view of an address may be another family's.
bool same_port(const Bytes& a, const Bytes& b) {
  return port_of(a) == port_of(b);
}

int flag_of(int fd, int level, int name) {
  int value = 0;
  socklen_t size = sizeof(value);
  return ::getsockopt(fd, level, name, &value, &size) == 0 ? value : 0;
}

// poll(2) says that there is room when a third of the buffer is free: it is tried again and again, too.
void write_all(int fd, const Bytes& data) {
  constexpr int kPatience = 300;  // tries
  constexpr int kPauseMs = 10;
  int idle = 0;
  for (std::size_t done = 0; done < data.size();) {
    const ssize_t sent = ::send(fd, data.data() + done, data.size() - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      done += static_cast<std::size_t>(sent);
      idle = 0;
      continue;
    }
    if (errno != EAGAIN) fail_errno("cannot put {} bytes back into a connection", data.size());
    if (idle++ == kPatience)
      fail(ENOBUFS,
           "{} bytes in flight in a connection do not fit into its buffers: only {} do (send buffer {})",
           data.size(), done, flag_of(fd, SOL_SOCKET, SO_SNDBUF));
    pollfd room{fd, POLLOUT, 0};
    if (::poll(&room, 1, kPauseMs) > 0) ::usleep(kPauseMs * 1000);  // which need not mean that something fits
  }
}

// Reads what has been sent, all of it: nothing of it may be left in front of what belongs there.
void drain(int fd, std::size_t bytes) {
  constexpr int kPatience = 3000;  // ms
  std::vector<std::byte> place(std::size_t{1} << 18);
  while (bytes > 0) {
    const ssize_t got = ::recv(fd, place.data(), std::min(place.size(), bytes), MSG_DONTWAIT);
    if (got > 0) {
      bytes -= static_cast<std::size_t>(got);
      continue;
    }
    pollfd some{fd, POLLIN, 0};
    int error = got == 0 ? ECONNRESET : errno;
    if (error == EAGAIN && ::poll(&some, 1, kPatience) == 0) error = ETIMEDOUT;
    if (error != EAGAIN)
      fail(error, "cannot read {} bytes back from a connection that is being restored", bytes);
  }
}

// The kernel's own sizes grow with what goes through a connection, as they did with what the program sent: to
// where net.ipv4.tcp_wmem and tcp_rmem let them, which is more than a caller without privileges can set.
void grow_buffers(int from, int to, std::size_t bytes) {
  constexpr int kMostRounds = 64;
  constexpr int kRoundsWithoutGrowth = 6;
  constexpr int kSmallRounds = 32;
  constexpr std::size_t kSmallPart = 4096;
  constexpr int kPartsAtOnce = 48;
  leave_buffers_to_kernel(from);
  leave_buffers_to_kernel(to);
  if (room_in_connection(from, to) >= bytes) return;
  const std::vector<std::byte> filler(std::size_t{1} << 18);
  // The send buffer follows the congestion window, which grows by the number of segments under way: small
  // ones, as few large ones fill the window of a receiver that does not read.
  const int no_delay = flag_of(from, IPPROTO_TCP, TCP_NODELAY);
  set_flag(from, IPPROTO_TCP, TCP_NODELAY, 1);
  for (int round = 0; round < kSmallRounds; ++round) {
    std::size_t sent = 0;
    for (int part = 0; part < kPartsAtOnce; ++part) {
      const ssize_t now = ::send(from, filler.data(), kSmallPart, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (now <= 0) break;
      sent += static_cast<std::size_t>(now);
    }
    drain(to, sent);
  }
  set_flag(from, IPPROTO_TCP, TCP_NODELAY, no_delay);
  int same = 0;
  for (int round = 0; round < kMostRounds && same < kRoundsWithoutGrowth; ++round) {
    const std::size_t room = room_in_connection(from, to);
    if (room >= bytes) return;
    std::size_t sent = 0;
    for (ssize_t now = 0;
         (now = ::send(from, filler.data(), filler.size(), MSG_DONTWAIT | MSG_NOSIGNAL)) > 0;)
      sent += static_cast<std::size_t>(now);
    drain(to, sent);
    if (sent >= bytes) return;
    same = room_in_connection(from, to) > room ? 0 : same + 1;
  }
}

// For one connection, which leads nowhere else.
UniqueFd listen_at_loopback(const FileRestoreInput& input, const File& file, Bytes& where) {
  UniqueFd listener = new_socket(input, file);
  sockaddr_in6 any{};
  const bool v6 = file.connection->head.family == AF_INET6;
  any.sin6_family = static_cast<sa_family_t>(file.connection->head.family);
  if (v6)
    any.sin6_addr = in6addr_loopback;
  else
    reinterpret_cast<sockaddr_in&>(any).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&any), size) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&any), &size) != 0)
    fail_errno("cannot listen at the loopback address");
  where.resize(size);
  std::memcpy(where.data(), &any, size);
  return listener;
}

// Nothing: it would take a while, or cannot be had.
UniqueFd call_from_own(const FileRestoreInput& input, const File& file, const Bytes& where) {
  const SocketState& state = *file.connection;
  const sockaddr_in6 own = ipv6_name(state.name);
  const bool v6 = state.head.family == AF_INET6;
  // Bound to a device it would call there; from an IPv4 address ::1 is not to be had.
  if (v6 && (own.sin6_scope_id != 0 || IN6_IS_ADDR_V4MAPPED(&own.sin6_addr))) return UniqueFd();
  // From its port alone it would have the address that it calls.
  return call_once(input, file, state.name, where,
                   {false, v6 && !IN6_IS_ADDR_LOOPBACK(&own.sin6_addr), false});
}

void reset_by(UniqueFd& peer) {
  const linger now{1, 0};
  (void)::setsockopt(peer.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  peer.reset();
}

}  // namespace

bool shares_port(const Context& context, const File& file) {
  if (file.connection->head.flags & CRYO_SOCK_STATE_REUSEPORT) return true;
  const Bytes& name = file.connection->name;
  return std::any_of(context.files.begin(), context.files.end(), [&](const auto& one) {
    const File& other = one.second;
    if (other.net != file.net || other.id == file.id) return false;
    if (other.socket)
      return other.socket->head.protocol == IPPROTO_TCP && (other.socket->head.flags & CRYO_SOCK_REUSEPORT) &&
             same_port(other.socket->address, name);
    return is_tcp(other) && (other.connection->head.flags & CRYO_SOCK_STATE_REUSEPORT) &&
           same_port(other.connection->name, name);
  });
}

// For one connection, then closed: what comes after it may have to bind to the same port.
UniqueFd Sockets::tcp_listener_at(const File& file, const Bytes& name) {
  UniqueFd fd = new_socket(input_, file);
  if (saved_option(file.options, SOL_SOCKET, SO_REUSEPORT).value_or(0))
    set_flag(fd.get(), SOL_SOCKET, SO_REUSEPORT, 1);
  raise_receive_buffer(fd.get());
  const Bytes alone = name_to_bind(file, name);
  if (alone == name || ::bind(fd.get(), raw(alone), size_of(alone)) != 0)
    patiently("bind to", port_of(name), [&] { return bind_to(input_, fd.get(), name); });
  // Room for strangers, who may call as well: with none a call of ours would be repeated for two minutes.
  if (listen_alone(fd.get(), SOMAXCONN, port_of(name)) != 0)
    fail_errno("cannot listen at port {}", port_of(name));
  return fd;
}

// `a` is the one that was accepted.
void Sockets::make_tcp_pair(const File& a, const File& b) {
  const UniqueFd listener = tcp_listener_at(a, a.connection->name);
  UniqueFd caller = call_from(input_, b, b.connection->name, b.connection->peer_name, listener.get());
  UniqueFd accepted = accept_from(input_, a, listener.get(), caller.get());
  if (!accepted) fail_errno("cannot accept a connection at port {}", port_of(a.connection->name));
  keep(a.id, std::move(accepted));
  keep(b.id, std::move(caller));
}

void Sockets::keep_peer(std::uint32_t file, int listener) {
  UniqueFd other = accept_from(input_, input_.context.file(file), listener, fds_.at(file).get());
  if (!other) fail_errno("cannot accept a connection whose other end is gone");
  peers_.emplace(file, input_.descriptors.park(std::move(other)));
}

// A connection whose other end is gone.
void Sockets::make_tcp_lonely(const File& file) {
  const SocketState& state = *file.connection;
  if (state.head.state == CRYO_SOCK_UNCONNECTED) {
    UniqueFd fd = new_socket(input_, file);
    if (state.head.flags & CRYO_SOCK_STATE_FREEBIND) set_flag(fd.get(), IPPROTO_IP, IP_FREEBIND, 1);
    if (shares_port(input_.context, file)) set_flag(fd.get(), SOL_SOCKET, SO_REUSEPORT, 1);
    if (port_of(state.name) != 0)
      patiently("bind to", port_of(state.name), [&] { return bind_to(input_, fd.get(), state.name); });
    keep(file.id, std::move(fd));
    return;
  }
  const UniqueFd there = tcp_listener_at(file, state.peer_name);
  keep(file.id, call_from(input_, file, state.name, state.peer_name, there.get()));
  keep_peer(file.id, there.get());
}

// A connection that will seem to have been reset: its port is of the kernel's choice, unless both sides had
// closed it and the old one is free.
void Sockets::make_tcp_reset(const File& file) {
  const SocketState& state = *file.connection;
  Bytes where;
  const UniqueFd listener = listen_at_loopback(input_, file, where);
  UniqueFd fd;
  if (state.head.state == CRYO_SOCK_PEER_GONE && port_of(state.name) != 0)
    fd = call_from_own(input_, file, where);
  keep(file.id, fd ? std::move(fd) : call_from(input_, file, {}, where));
  keep_peer(file.id, listener.get());
}

// A call that nobody had answered: the program finds out itself how it ends. All that decides where it goes
// is set before.
void Sockets::make_tcp_connecting(const File& file) {
  const SocketState& state = *file.connection;
  UniqueFd fd = new_socket(input_, file);
  if (state.head.flags & CRYO_SOCK_STATE_FREEBIND) set_flag(fd.get(), IPPROTO_IP, IP_FREEBIND, 1);
  if (shares_port(input_.context, file)) set_flag(fd.get(), SOL_SOCKET, SO_REUSEPORT, 1);
  set_socket_options(fd.get(), file);
  // What the kernel has chosen need not be the same: routes may have changed, too.
  if (state.head.flags & CRYO_SOCK_STATE_BOUND)
    patiently("bind to", port_of(state.name),
              [&] { return bind_to(input_, fd.get(), name_to_bind(file, state.name)); });
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0)
    fail_errno("cannot set the flags of a socket");
  const int error = ::connect(fd.get(), raw(state.peer_name), size_of(state.peer_name)) == 0 ? 0 : errno;
  if (::fcntl(fd.get(), F_SETFL, flags) != 0) fail_errno("cannot set the flags of a socket");
  // No route, for instance. Who waits in connect(2) calls again, and is told; who asks for the end of a call
  // finds it reset.
  if (error != 0 && error != EINPROGRESS && (file.head.flags & O_NONBLOCK)) return make_tcp_reset(file);
  keep(file.id, std::move(fd));
}

void Sockets::make_tcp_waiting(const File& file) {
  const SocketState& state = *file.connection;
  if (state.head.state == CRYO_SOCK_CONNECTED) {
    const File& caller = input_.context.file(state.head.peer);
    keep(caller.id, call_from(input_, caller, caller.connection->name, caller.connection->peer_name));
    return;
  }
  peers_.emplace(file.id, input_.descriptors.park(call_from(input_, file, {}, state.name)));
}

// Connections before listeners, which keep others from binding to their port; and before those with ports of
// the kernel's choice, which may be any.
void Sockets::make_tcp() {
  const Context& context = input_.context;
  const auto listens = [&](const File& file) {
    for (const auto& [id, other] : context.files)
      if (other.socket && other.socket->head.protocol == IPPROTO_TCP && other.net == file.net &&
          same_port(other.socket->address, file.connection->name))
        return true;
    return false;
  };
  for (const auto& [id, file] : context.files) {
    if (!is_tcp(file) || fds_.contains(id) || is_waiting(file) || was_reset(*file.connection)) continue;
    if (file.connection->head.state == CRYO_SOCK_CONNECTING) continue;
    if (file.connection->head.state != CRYO_SOCK_CONNECTED) {
      make_tcp_lonely(file);
      continue;
    }
    const File& other = context.file(file.connection->head.peer);
    if (is_waiting(other)) continue;
    const bool accepted = listens(file) || !listens(other);
    make_tcp_pair(accepted ? file : other, accepted ? other : file);
  }
  for (const File* file : sockets_by_place(context)) {
    if (!file->socket || fds_.contains(file->id)) continue;
    UniqueFd fd = make_socket(input_, *file, nullptr);
    attach_filter(fd.get(), *file);  // connections that wait in it inherit it
    keep(file->id, std::move(fd));
  }
  for (const auto& [id, file] : context.files)
    if (is_tcp(file) && is_waiting(file)) make_tcp_waiting(file);
  for (const auto& [id, file] : context.files)
    if (is_tcp(file) && !is_waiting(file) && was_reset(*file.connection)) make_tcp_reset(file);
  // They may call sockets of the job, which have all that waited in them by now.
  for (const auto& [id, file] : context.files)
    if (is_tcp(file) && file.connection->head.state == CRYO_SOCK_CONNECTING) make_tcp_connecting(file);
}

void Sockets::finish_tcp(const FileLookup& lookup) {
  for (const auto& [id, file] : input_.context.files) {
    if (!is_tcp(file)) continue;
    const auto gone = peers_.find(id);
    if (!file.queue.empty()) {
      const int from = gone != peers_.end() ? gone->second.get() : lookup(file.connection->head.peer);
      const std::uint64_t bytes = waiting_bytes(file);
      // One that nobody has accepted has no descriptor to read by.
      if (!raise_send_buffer(from) && bytes > kSmall && !is_waiting(file))
        grow_buffers(from, lookup(id), bytes);
      for (const SocketMessage& message : file.queue) write_all(from, message.data);
    }
    const cryo_sock_state& head = file.connection->head;
    if (gone != peers_.end() &&
        (head.state == CRYO_SOCK_RESET || head.state == CRYO_SOCK_CONNECTING || head.error == ECONNRESET))
      reset_by(gone->second);
  }
}

}  // namespace cryo
