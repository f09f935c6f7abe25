// SPDX-License-Identifier: GPL-2.0-only
// Whether sockets can be had again: for a moment another one is made like each, which nothing is sent to and
// which sends nothing.
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/termination.h"
#include "restart/common/helper_process.h"
#include "restart/net/lingering.h"
#include "restart/net/socket_holder.h"
#include "restart/net/sockets.h"
#include "restart/net/unix_names.h"

namespace cryo {
namespace {

// Of a file with a socket that listens, or another one.
struct Likeness {
  int family, type, protocol;
};

Likeness likeness_of(const File& file) {
  constexpr std::uint32_t kType = 0xf;  // without SOCK_NONBLOCK and SOCK_CLOEXEC
  const auto made_of = [](const auto& head) {
    return Likeness{static_cast<int>(head.family), static_cast<int>(head.type & kType),
                    static_cast<int>(head.protocol)};
  };
  return file.connection ? made_of(file.connection->head) : made_of(file.socket->head);
}

// Whose it is matters only where a port is shared, and takes a process of its own: whose user this one is for
// a moment may stop it.
UniqueFd socket_like(const Context& context, const File& file, bool shares) {
  const auto [family, type, protocol] = likeness_of(file);
  const NamesOf maker = NamesOf::maker_of(context, file.head.inode);
  const auto make = [&] {
    UniqueFd fd(shares ? as_maker([&] { return ::socket(family, type | SOCK_CLOEXEC, protocol); })
                       : ::socket(family, type | SOCK_CLOEXEC, protocol));
    if (!fd) fail_errno("cannot create a socket of family {}", family);
    return fd;
  };
  return shares ? in_helper_process(make) : make();
}

std::uint16_t inet_port_in(const Bytes& name) {
  sockaddr_in address{};  // the port is at the same place in both families
  std::memcpy(&address, name.data(), std::min(name.size(), sizeof(address)));
  return ntohs(address.sin_port);
}

std::string inet_text(const Bytes& name) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  sockaddr_in6 address{};
  std::memcpy(&address, name.data(), std::min(name.size(), sizeof(address)));
  if (address.sin6_family == AF_INET6) {
    ::inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size());
    return fmt::format("[{}]:{}", text.data(), inet_port_in(name));
  }
  ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text.data(), text.size());
  return fmt::format("{}:{}", text.data(), inet_port_in(name));
}

std::string by(const std::string& holder) {
  return holder.empty() ? "" : " by " + holder;
}

std::string used_port_problem(const File& file, const Bytes& name) {
  const int type = likeness_of(file).type;
  return fmt::format("{} {} is in use{}", type == SOCK_STREAM ? "TCP" : "UDP", inet_text(name),
                     by(inet_holder(type, name)));
}

void switch_on(int fd, int level, int name, int value = 1) {
  if (::setsockopt(fd, level, name, &value, sizeof(value)) != 0)
    fail_errno("cannot set option {} of level {} of a socket", name, level);
}

// What the restart does with the port.
enum class Port {
  kTaken,   // it binds a socket to it
  kCalled,  // it has one ready to connect from it, in several ways
};

// What lingers there goes away by itself.
std::string port_problem(int probe, const File& file, const Bytes& name, Port use, int& code) {
  const std::uint16_t port = inet_port_in(name);
  if (port == 0 || ::bind(probe, raw(name), static_cast<socklen_t>(name.size())) == 0) return "";
  code = errno;
  if (code == EADDRINUSE) {
    const bool stays = has_listener(port) || (use == Port::kTaken && !has_lingering(port));
    return stays ? used_port_problem(file, name) : "";
  }
  if (code == EACCES && use == Port::kCalled) return "";
  return fmt::format("cannot be at {} again: {}", inet_text(name), errno_text(code));
}

std::string listener_problem(const Context& context, const File& file, int& code) {
  const cryo_socket& head = file.socket->head;
  const bool shares = (head.flags & CRYO_SOCK_REUSEPORT) != 0;
  const UniqueFd probe = socket_like(context, file, shares);
  prepare_to_bind(probe.get(), *file.socket);
  return port_problem(probe.get(), file, file.socket->address, Port::kTaken, code);
}

std::string tcp_problem(const Context& context, const File& file, int& code) {
  const SocketState& state = *file.connection;
  const bool shares =
      shares_port(context, file) || saved_option(file.options, SOL_SOCKET, SO_REUSEPORT).value_or(0) != 0;
  const auto at = [&](const Bytes& name, Port use) {
    const UniqueFd probe = socket_like(context, file, shares);
    switch_on(probe.get(), SOL_SOCKET, SO_REUSEADDR);
    if (shares) switch_on(probe.get(), SOL_SOCKET, SO_REUSEPORT);
    if (state.head.flags & CRYO_SOCK_STATE_FREEBIND) switch_on(probe.get(), IPPROTO_IP, IP_FREEBIND);
    if (state.head.family == AF_INET6)
      switch_on(probe.get(), IPPROTO_IPV6, IPV6_V6ONLY,
                saved_option(file.options, IPPROTO_IPV6, IPV6_V6ONLY).value_or(0));
    return port_problem(probe.get(), file, name, use, code);
  };
  switch (state.head.state) {
    case CRYO_SOCK_UNCONNECTED:
      return at(state.name, Port::kTaken);
    case CRYO_SOCK_CONNECTED:
      return at(state.name, Port::kCalled);
    case CRYO_SOCK_PEER_GONE: {
      if (state.peer_name.empty()) return "";  // will seem to have been reset: any port will do
      const std::string there = at(state.peer_name, Port::kTaken);
      return there.empty() ? at(state.name, Port::kCalled) : there;
    }
    default:
      return "";
  }
}

// Who else has the port may get what is sent to it, or share it: neither is found out at his cost.
std::string udp_problem(const Context& context, const File& file, int& code) {
  SocketState state = *file.connection;
  const UniqueFd probe = socket_like(context, file, false);
  set_socket_options(probe.get(), file);
  bool shares = (state.head.flags & CRYO_SOCK_STATE_REUSEPORT) != 0;
  for (const int name : {SO_REUSEADDR, SO_REUSEPORT}) {
    shares |= saved_option(file.options, SOL_SOCKET, static_cast<std::uint32_t>(name)).value_or(0) != 0;
    switch_on(probe.get(), SOL_SOCKET, name, 0);
  }
  state.head.flags &= ~static_cast<std::uint32_t>(CRYO_SOCK_STATE_REUSEPORT);
  try {
    bind_udp(probe.get(), state);
  } catch (const Error& error) {
    code = error.code();
    if (code != EADDRINUSE)
      return fmt::format("cannot be at {} again: {}", inet_text(state.name), errno_text(code));
    if (!shares) return used_port_problem(file, state.name);
    code = 0;
    return used_port_problem(file, state.name) + ": whether both may have it is seen when it is restored";
  }
  if (state.head.state == CRYO_SOCK_CONNECTED &&
      ::connect(probe.get(), raw(state.peer_name), static_cast<socklen_t>(state.peer_name.size())) != 0) {
    code = errno;
    return fmt::format("cannot be connected to {} again: {}", inet_text(state.peer_name), errno_text(code));
  }
  return "";
}

std::string name_problem(const Context& context, const File& file, int& code) {
  if (file.socket) return listener_problem(context, file, code);
  if (file.head.kind == CRYO_FILE_UDP) return udp_problem(context, file, code);
  return file.connection->head.protocol == IPPROTO_TCP && file.head.kind == CRYO_FILE_TCP
             ? tcp_problem(context, file, code)
             : "";
}

// One that was accepted has its listener's name.
bool is_of_listener(const Context& context, const File& file) {
  return file.connection &&
         std::any_of(context.files.begin(), context.files.end(), [&file](const auto& other) {
           return other.second.socket && other.second.socket->address == file.connection->name;
         });
}

// A process that was killed may have its sockets a moment longer than its pid: so many pauses, for all of
// them.
int g_pauses = 40;

std::string abstract_problem(const Context& context, const File& file, int& code) {
  const Bytes& name = file.socket ? file.socket->address : file.connection->name;
  const std::string text = abstract_name(name);
  if (text.empty() || is_of_listener(context, file)) return "";
  for (;; --g_pauses) {
    // Each time another one: closing it has the kernel look for sockets that are only in each other's queues,
    // as those of the job may be.
    const UniqueFd probe = socket_like(context, file, false);
    if (::bind(probe.get(), raw(name), static_cast<socklen_t>(name.size())) == 0) return "";
    code = errno;
    if (code != EADDRINUSE) return "";
    if (g_pauses <= 0)
      return fmt::format("the abstract name {} is in use{}", text, by(abstract_holder(name)));
    if (is_pending_termination()) fail(EINTR, "interrupted by a signal");
    ::usleep(50000);
  }
}

std::string netlink_problem(const Context& context, const File& file, int& code) {
  sockaddr_nl name{};
  std::memcpy(&name, file.connection->name.data(), std::min(file.connection->name.size(), sizeof(name)));
  if (name.nl_pid == 0) return "";
  name.nl_groups = 0;  // which take rights
  const UniqueFd probe = socket_like(context, file, false);
  if (::bind(probe.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0) return "";
  code = errno;
  if (code != EADDRINUSE) return "";
  const std::uint32_t protocol = file.connection->head.protocol;
  return fmt::format("port {} of netlink protocol {} is in use{}", name.nl_pid, protocol,
                     by(netlink_holder(protocol, name.nl_pid)));
}

// Those that say that the caller may not, or that there is no such thing here.  Others depend on what the
// socket is by then.
std::string sockopt_problem(const Context& context, const File& file, int& code) {
  if (file.options.empty() || file.head.kind == CRYO_FILE_NETLINK || file.head.kind == CRYO_FILE_RAW)
    return "";
  const UniqueFd probe = socket_like(context, file, false);
  try {
    set_socket_options(probe.get(), file);
  } catch (const Error& error) {
    const int final[] = {EPERM, EACCES, ENODEV, ENOENT};
    if (std::find(std::begin(final), std::end(final), error.code()) == std::end(final)) return "";
    code = error.code();
    return error.what();
  }
  return "";
}

// As many bytes and messages, which only their number and size is asked of.
std::vector<SocketMessage> bare(const std::vector<SocketMessage>& messages) {
  std::vector<SocketMessage> all;
  for (const SocketMessage& message : messages) all.emplace_back().data = message.data;
  return all;
}

// What waits in a Unix socket has to fit into the buffers of who sends it.
std::string waiting_problem(const File& file, int& code) {
  if (file.head.kind != CRYO_FILE_UNIX || file.queue.empty()) return "";
  const int type = likeness_of(file).type;
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) return "";
  const UniqueFd from(ends[0]), to(ends[1]);
  const auto nobody = [](std::uint32_t) { return -1; };
  try {
    if (type != SOCK_DGRAM) {
      send_messages(from.get(), type, bare(file.queue), nobody);
    } else {
      raise_send_buffer(from.get());
      for (const SocketMessage& message : bare(file.queue)) {
        char byte;
        send_datagram(from.get(), message, {}, nobody);
        (void)::recv(to.get(), &byte, sizeof(byte), MSG_DONTWAIT);
      }
    }
  } catch (const Error& error) {
    code = error.code();
    return error.what();
  }
  return "";
}

}  // namespace

std::string socket_problem(const Context& context, const File& file, int& code) {
  const int family = likeness_of(file).family;
  std::string name;
  if (family == AF_INET || family == AF_INET6) name = name_problem(context, file, code);
  if (family == AF_UNIX) name = abstract_problem(context, file, code);
  if (family == AF_NETLINK && file.connection) name = netlink_problem(context, file, code);
  if (!name.empty() && code != 0) return name;
  if (std::string text = sockopt_problem(context, file, code); !text.empty()) return text;
  if (std::string text = waiting_problem(file, code); !text.empty()) return text;
  return name;
}

}  // namespace cryo
