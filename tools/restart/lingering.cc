// SPDX-License-Identifier: GPL-2.0-only
#include "restart/lingering.h"

#include <cryo/ioctl.h>
#include <sys/ioctl.h>

#include <cerrno>

namespace cryo {

int bind_to_lingering(int handle, int fd, const sockaddr* address, socklen_t size, std::uint16_t port) {
  const int result = ::bind(fd, address, size);
  if (result == 0 || errno != EADDRINUSE || port == 0) return result;
  cryo_port args{};
  args.size = sizeof(args);
  args.fd = fd;
  args.port = port;
  // Where that cannot be done, bind() says why.
  (void)::ioctl(handle, CRYO_RST_PORT, &args);
  return ::bind(fd, address, size);
}

}  // namespace cryo
