// SPDX-License-Identifier: GPL-2.0-only
// Options of sockets.
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/error.h"
#include "base/unique_fd.h"
#include "restart/net/sockets.h"

namespace cryo {
namespace {

constexpr int kBufLock = 72;  // SO_BUF_LOCK, which glibc 2.36 lacks
constexpr int kLargest = 1 << 28;

int option_value(const cryo_sockopt& option) {
  int value = 0;
  std::memcpy(&value, option.value, std::min<std::size_t>(option.length, sizeof(value)));
  return value;
}

int current_int(int fd, int name) {
  int value = 0;
  socklen_t size = sizeof(value);
  return ::getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

// Streams have these options and do not let them be set; they mean nothing to them.
bool is_multicast(const cryo_sockopt& option) {
  if (option.level == IPPROTO_IP)
    return option.name == IP_MULTICAST_TTL || option.name == IP_MULTICAST_IF ||
           option.name == IP_MULTICAST_LOOP || option.name == IP_MULTICAST_ALL;
  return option.level == IPPROTO_IPV6 &&
         (option.name == IPV6_MULTICAST_HOPS || option.name == IPV6_MULTICAST_LOOP ||
          option.name == IPV6_MULTICAST_IF);
}

bool is_same(int fd, const cryo_sockopt& option) {
  unsigned char now[CRYO_SOCKOPT_SIZE] = {};
  socklen_t size = sizeof(now);
  return ::getsockopt(fd, static_cast<int>(option.level), static_cast<int>(option.name), now, &size) == 0 &&
         size == option.length && std::memcmp(now, option.value, size) == 0;
}

// The kernel doubles what it is given.  Sizes that it chose by itself it will choose again.
void set_buffer(int fd, const std::vector<cryo_sockopt>& options, int name, int force, int wanted) {
  const int half = wanted / 2;
  constexpr int kSendLocked = 1, kReceiveLocked = 2;
  const int locks = saved_option(options, SOL_SOCKET, kBufLock).value_or(0);
  if (::setsockopt(fd, SOL_SOCKET, name, &half, sizeof(half)) == 0 && current_int(fd, name) == wanted) return;
  if (::setsockopt(fd, SOL_SOCKET, force, &half, sizeof(half)) == 0) return;
  if (locks & (name == SO_SNDBUF ? kSendLocked : kReceiveLocked))
    fail(EPERM, "cannot set the {} buffer of a socket to {} bytes: /proc/sys/net/core/{} allows less",
         name == SO_SNDBUF ? "send" : "receive", half, name == SO_SNDBUF ? "wmem_max" : "rmem_max");
}

}  // namespace

std::optional<int> saved_option(const std::vector<cryo_sockopt>& options, std::uint32_t level,
                                std::uint32_t name) {
  for (const cryo_sockopt& option : options)
    if (option.level == level && option.name == name) return option_value(option);
  return std::nullopt;
}

namespace {

// The kernel has set it when it was bound to an address, and does not let it be cleared then; it says who
// else may have the port.
bool is_settled(const cryo_sockopt& option) {
  return option.level == IPPROTO_IPV6 && option.name == IPV6_V6ONLY && errno == EINVAL;
}

// An option that this kernel does not know, of a socket that has not used it.
bool is_unused(const cryo_sockopt& option) {
  const auto end = option.value + std::min<std::size_t>(option.length, sizeof(option.value));
  return errno == ENOPROTOOPT && std::all_of(option.value, end, [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

void set_socket_options(int fd, const std::vector<cryo_sockopt>& options) {
  const bool stream = current_int(fd, SO_TYPE) == SOCK_STREAM;
  for (const cryo_sockopt& option : options) {
    if (is_same(fd, option) || (stream && is_multicast(option))) continue;
    const bool of_socket = option.level == SOL_SOCKET;
    if (of_socket && option.name == SO_SNDBUF)
      set_buffer(fd, options, SO_SNDBUF, SO_SNDBUFFORCE, option_value(option));
    else if (of_socket && option.name == SO_RCVBUF)
      set_buffer(fd, options, SO_RCVBUF, SO_RCVBUFFORCE, option_value(option));
    else if (::setsockopt(fd, static_cast<int>(option.level), static_cast<int>(option.name), option.value,
                          option.length) != 0 &&
             !is_settled(option) && !is_unused(option))
      fail_errno("cannot set option {} of level {} of a socket", option.name, option.level);
  }
}

namespace {

// What a caller without privileges can set at most.
int largest_buffer(int name) {
  static std::map<int, int> known;
  if (const auto found = known.find(name); found != known.end()) return found->second;
  const UniqueFd probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe || ::setsockopt(probe.get(), SOL_SOCKET, name, &kLargest, sizeof(kLargest)) != 0) return 0;
  return known[name] = current_int(probe.get(), name);
}

// The kernel may have given it more by itself than it lets a caller without privileges set.
bool raise_buffer(int fd, int name, int force) {
  if (::setsockopt(fd, SOL_SOCKET, force, &kLargest, sizeof(kLargest)) == 0) return true;
  if (current_int(fd, name) < largest_buffer(name))
    (void)::setsockopt(fd, SOL_SOCKET, name, &kLargest, sizeof(kLargest));
  return false;
}

}  // namespace

bool raise_send_buffer(int fd) {
  return raise_buffer(fd, SO_SNDBUF, SO_SNDBUFFORCE);
}

bool raise_receive_buffer(int fd) {
  return raise_buffer(fd, SO_RCVBUF, SO_RCVBUFFORCE);
}

std::size_t room_in_connection(int from, int to) {
  return (static_cast<std::size_t>(std::max(current_int(from, SO_SNDBUF), 0)) +
          static_cast<std::size_t>(std::max(current_int(to, SO_RCVBUF), 0))) /
         2;
}

void leave_buffers_to_kernel(int fd) {
  constexpr int kNone = 0;
  (void)::setsockopt(fd, SOL_SOCKET, kBufLock, &kNone, sizeof(kNone));
}

}  // namespace cryo
