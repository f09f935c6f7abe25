// SPDX-License-Identifier: GPL-2.0-only
// Listening sockets.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "restart/files/files.h"
#include "restart/net/lingering.h"
#include "restart/net/sockets.h"
#include "restart/net/unix_names.h"
#include "restart/ns/namespaces.h"

namespace cryo {
namespace {

constexpr std::size_t kPathOffset = offsetof(sockaddr_un, sun_path);
constexpr int kTypeMask = 0xf;  // without SOCK_NONBLOCK and SOCK_CLOEXEC

void set_option(int fd, int level, int name, int value, const char* text) {
  if (::setsockopt(fd, level, name, &value, sizeof(value)) != 0)
    fail_errno("cannot set {} of a socket", text);
}

std::uint16_t port_of(const Socket& socket, const SocketAddress& address) {
  std::uint16_t port = 0;
  if ((socket.head.family == AF_INET || socket.head.family == AF_INET6) && address.bytes.size() >= 4)
    std::memcpy(&port, address.bytes.data() + offsetof(sockaddr_in, sin_port), sizeof(port));
  return ntohs(port);
}

std::string describe(const Socket& socket, const SocketAddress& address) {
  if (!address.path.empty()) return address.path;
  const std::uint16_t port = port_of(socket, address);
  return port != 0 ? fmt::format("port {}", port)
                   : fmt::format("an address of family {}", socket.head.family);
}

// What of the process's earlier life is about to end at the address goes away by itself, within a minute at
// the latest.
void bind_patiently(int handle, int fd, const Socket& socket, const SocketAddress& address) {
  constexpr int kTries = 350;
  const std::uint16_t port = port_of(socket, address);
  const auto* name = reinterpret_cast<const sockaddr*>(address.bytes.data());
  const auto size = static_cast<socklen_t>(address.bytes.size());
  for (int attempt = 1; bind_to_lingering(handle, fd, name, size, port) != 0; ++attempt) {
    const int error = errno;
    if (error != EADDRINUSE || port == 0 || attempt == kTries || has_listener(port))
      fail(error, "cannot bind a socket to {}: {}", describe(socket, address), errno_text(error));
    ::usleep(200000);
  }
}

}  // namespace

SocketAddress socket_address(const Socket& socket, const Relocations& relocations) {
  SocketAddress address{socket.address, {}};
  if (socket.head.family != AF_UNIX || socket.address.size() <= kPathOffset) return address;
  const char* name = reinterpret_cast<const char*>(socket.address.data()) + kPathOffset;
  const std::size_t length = ::strnlen(name, socket.address.size() - kPathOffset);
  if (length == 0) return address;  // abstract
  address.path = relocations.apply(std::string(name, length));
  if (address.path.size() >= sizeof(sockaddr_un::sun_path))
    fail(ENAMETOOLONG, "{}: too long for the address of a socket", address.path);
  address.bytes.resize(kPathOffset);
  const auto* bytes = reinterpret_cast<const std::byte*>(address.path.c_str());
  address.bytes.insert(address.bytes.end(), bytes, bytes + address.path.size() + 1);
  return address;
}

void prepare_to_bind(int fd, const Socket& saved) {
  const cryo_socket& head = saved.head;
  // Connections of the process's earlier life may linger at the address (TIME_WAIT): no obstacle if the
  // socket had this option too, while another listener still is one.
  set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
  if (head.flags & CRYO_SOCK_REUSEPORT) set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1, "SO_REUSEPORT");
  if (head.flags & CRYO_SOCK_FREEBIND) set_option(fd, IPPROTO_IP, IP_FREEBIND, 1, "IP_FREEBIND");
  if (head.family == AF_INET6)
    set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, (head.flags & CRYO_SOCK_V6ONLY) ? 1 : 0, "IPV6_V6ONLY");
}

namespace {

UniqueFd new_socket_of(const FileRestoreInput& input, const File& file) {
  const cryo_socket& saved = file.socket->head;
  const NamesOf maker = NamesOf::maker_of(input.context, file.head.inode);
  return input.namespaces.socket(file.net, static_cast<int>(saved.family),
                                 static_cast<int>(saved.type) & kTypeMask, static_cast<int>(saved.protocol));
}

}  // namespace

UniqueFd make_socket(const FileRestoreInput& input, const File& file, UnixNames* names,
                     const OwnIds* listener) {
  const Socket& saved = *file.socket;
  const SocketAddress address = socket_address(saved, input.options.relocations);
  UniqueFd fd = new_socket_of(input, file);
  prepare_to_bind(fd.get(), saved);
  if (names != nullptr)
    names->bind(file.id, fd.get(), unix_name_of(input.context, file, input.options.relocations));
  else if (!address.bytes.empty())
    bind_patiently(input.handle_fd, fd.get(), saved, address);
  // Not before: to enter a network namespace takes rights that he does not have.
  std::optional<ActAs> user;
  if (listener != nullptr) user.emplace(input.context, listener->euid, listener->egid);
  if (listen_alone(fd.get(), static_cast<int>(saved.head.backlog), port_of(saved, address)) != 0)
    fail_errno("cannot listen at {}", describe(saved, address));
  user.reset();
  if (!(saved.head.flags & CRYO_SOCK_REUSEADDR))
    set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 0, "SO_REUSEADDR");
  return fd;
}

}  // namespace cryo
