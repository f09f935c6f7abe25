// SPDX-License-Identifier: GPL-2.0-only
// Multicast groups of IPv4 and IPv6 sockets.
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "restart/net/sockets.h"

namespace cryo {
namespace {

sockaddr_storage address_of(std::uint32_t family, const std::uint8_t (&bytes)[16]) {
  sockaddr_storage address{};
  address.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET)
    std::memcpy(&reinterpret_cast<sockaddr_in&>(address).sin_addr, bytes, sizeof(in_addr));
  else
    std::memcpy(&reinterpret_cast<sockaddr_in6&>(address).sin6_addr, bytes, sizeof(in6_addr));
  return address;
}

std::string text_of(const SocketGroup& group) {
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(static_cast<int>(group.head.family), group.head.group, text, sizeof(text));
  return text;
}

// In the network namespace of the socket.
std::uint32_t index_of(int fd, const SocketGroup& group) {
  ifreq request{};
  group.device.copy(request.ifr_name, sizeof(request.ifr_name) - 1);
  if (::ioctl(fd, SIOCGIFINDEX, &request) != 0)
    fail_errno("cannot join group {} on network interface {}", text_of(group), group.device);
  return static_cast<std::uint32_t>(request.ifr_ifindex);
}

template <typename Request>
void ask(int fd, const SocketGroup& group, int option, const Request& request) {
  const int level = group.head.family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
  if (::setsockopt(fd, level, option, &request, sizeof(request)) != 0)
    fail_errno("cannot join group {} on network interface {}", text_of(group), group.device);
}

void join(int fd, const SocketGroup& group) {
  const bool all_but = group.head.mode == MCAST_EXCLUDE;
  const std::uint32_t index = index_of(fd, group);
  const sockaddr_storage address = address_of(group.head.family, group.head.group);
  if (all_but) {
    group_req request{};
    request.gr_interface = index;
    request.gr_group = address;
    ask(fd, group, MCAST_JOIN_GROUP, request);
  }
  for (const auto& source : group.sources) {
    group_source_req request{};
    request.gsr_interface = index;
    request.gsr_group = address;
    std::uint8_t bytes[16];
    std::ranges::copy(source, bytes);
    request.gsr_source = address_of(group.head.family, bytes);
    ask(fd, group, all_but ? MCAST_BLOCK_SOURCE : MCAST_JOIN_SOURCE_GROUP, request);
  }
}

}  // namespace

// The kernel has the newest first.
void join_groups(int fd, const File& file) {
  for (auto group = file.groups.rbegin(); group != file.groups.rend(); ++group) join(fd, *group);
}

std::string multicast_problem(const File& file) {
  for (const SocketGroup& group : file.groups)
    if (file.net == 0 && ::if_nametoindex(group.device.c_str()) == 0)
      return fmt::format("was in group {} on network interface {}, which is not there", text_of(group),
                         group.device);
  return "";
}

}  // namespace cryo
