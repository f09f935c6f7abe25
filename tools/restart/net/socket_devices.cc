// SPDX-License-Identifier: GPL-2.0-only
// Network interfaces that options of sockets name by their index, which is another one on another machine.
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

// In the network namespace of the socket.
std::uint32_t interface_index(int fd, const std::string& device) {
  ifreq request{};
  device.copy(request.ifr_name, sizeof(request.ifr_name) - 1);
  if (::ioctl(fd, SIOCGIFINDEX, &request) != 0)
    fail_errno("network interface {}, which a socket names, cannot be found", device);
  return static_cast<std::uint32_t>(request.ifr_ifindex);
}

void set_index(cryo_sockopt& option, std::uint32_t index) {
  std::size_t place = 0;
  if (option.level == IPPROTO_IP && option.name == IP_MULTICAST_IF)
    place = offsetof(ip_mreqn, imr_ifindex);
  else if ((option.level == IPPROTO_IP && option.name == IP_UNICAST_IF) ||
           (option.level == IPPROTO_IPV6 && option.name == IPV6_UNICAST_IF))
    index = htonl(index);
  if (place + sizeof(index) <= option.length) std::memcpy(option.value + place, &index, sizeof(index));
}

}  // namespace

std::vector<cryo_sockopt> options_here(int fd, const File& file) {
  std::vector<cryo_sockopt> options = file.options;
  for (const SocketDevice& device : file.devices) {
    const auto is_its = [&](const cryo_sockopt& option) {
      return option.level == device.head.level && option.name == device.head.name &&
             (option.name != IP_MULTICAST_IF || option.level != IPPROTO_IP ||
              option.length == sizeof(ip_mreqn));
    };
    if (device.device.empty()) {
      std::erase_if(options, is_its);
      continue;
    }
    const std::uint32_t index = interface_index(fd, device.device);
    for (cryo_sockopt& option : options)
      if (is_its(option)) set_index(option, index);
  }
  return options;
}

void set_socket_options(int fd, const File& file) {
  set_socket_options(fd, options_here(fd, file));
}

std::string device_problem(const File& file) {
  for (const SocketDevice& device : file.devices)
    if (file.net == 0 && !device.device.empty() && ::if_nametoindex(device.device.c_str()) == 0)
      return fmt::format("sends by the network interface {}, which is not there", device.device);
  return "";
}

}  // namespace cryo
