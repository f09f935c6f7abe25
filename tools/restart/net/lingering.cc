// SPDX-License-Identifier: GPL-2.0-only
#include "restart/net/lingering.h"

#include <cryo/ioctl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string>

#include "base/message.h"

namespace cryo {
namespace {

constexpr unsigned kPauseUs = 200000;
constexpr int kLingerTries = 350;  // TIME_WAIT is 60 s

// "  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 ...": a
// line for each socket that has a port.
struct PortLine {
  unsigned local = 0, state = 0;
  unsigned long inode = 0;  // 0: nobody has it open
};

template <typename Predicate>
bool any_port_line(Predicate predicate) {
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      PortLine at;
      if (std::sscanf(line.c_str(), " %*u: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x %*s %*s %*s %*u %*u %lu",
                      &at.local, &at.state, &at.inode) == 3 &&
          predicate(at))
        return true;
    }
  }
  return false;
}

// The module will not take a port from connections that may be others'.
bool is_kept(int handle, int fd, std::uint16_t port) {
  cryo_port args{};
  args.size = sizeof(args);
  args.fd = fd;
  args.port = port;
  // Where that cannot be done for another reason, bind() says why.
  return ::ioctl(handle, CRYO_RST_PORT, &args) != 0 && errno == EPERM;
}

}  // namespace

bool has_listener(std::uint16_t port) {
  constexpr unsigned kListen = 0x0a;
  return any_port_line([port](const PortLine& at) { return at.local == port && at.state == kListen; });
}

bool has_lingering(std::uint16_t port) {
  return any_port_line([port](const PortLine& at) { return at.local == port && at.inode == 0; });
}

int bind_to_lingering(int handle, int fd, const sockaddr* address, socklen_t size, std::uint16_t port,
                      bool wait) {
  for (int attempt = 1;; ++attempt) {
    const int result = ::bind(fd, address, size);
    if (result == 0 || errno != EADDRINUSE || port == 0) return result;
    if (!is_kept(handle, fd, port) || has_listener(port)) return ::bind(fd, address, size);
    if (!wait || attempt == kLingerTries) {
      errno = EADDRINUSE;
      return -1;
    }
    if (attempt == 1)
      message("cr_restart",
              "port {} is held by connections in TIME_WAIT for up to 60 s: waiting (CAP_NET_ADMIN or the "
              "module parameter time_wait_ports avoids this)",
              port);
    ::usleep(kPauseUs);
  }
}

int listen_alone(int fd, int backlog, std::uint16_t port) {
  constexpr int kTries = 20;
  for (int attempt = 1;; ++attempt) {
    if (::listen(fd, backlog) == 0) return 0;
    const int error = errno;
    const bool again = error == EADDRINUSE && port != 0 && attempt < kTries && !has_listener(port);
    errno = error;
    if (!again) return -1;
    // Not at the same moment as the other one once more.
    ::usleep(static_cast<useconds_t>(1000 * (1 + (::getpid() + attempt * 7) % 31)));
  }
}

}  // namespace cryo
