// SPDX-License-Identifier: GPL-2.0-only
// CRYO_RST_PORT by itself: closed connections give their port up, and nobody loses one by it: neither an open
// connection, nor another user's that has not said all yet, nor another network namespace. Misuse is refused.
#include <arpa/inet.h>
#include <cryo/ioctl.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "tap.h"

namespace {

constexpr uid_t kOtherUser = 65534;

int must(long result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return static_cast<int>(result);
}

class Fd {
 public:
  Fd(long fd, const char* what) : fd_(must(fd, what)) {}
  ~Fd() { close(); }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&&) = delete;
  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

Fd tcp_socket() {
  return {::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"};
}

sockaddr_in address(uint16_t port) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(port);
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return where;
}

int try_bind(int fd, uint16_t port) {
  const sockaddr_in where = address(port);
  return ::bind(fd, reinterpret_cast<const sockaddr*>(&where), sizeof(where));
}

// What bind(2) says to one with SO_REUSEADDR: 0, or an errno value.
int bind_error(uint16_t port) {
  Fd fd = tcp_socket();
  const int on = 1;
  must(::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), "setsockopt");
  return try_bind(fd.get(), port) == 0 ? 0 : errno;
}

// A connection to a listening socket that is gone, so that the port is the connection's alone.
struct Connection {
  Fd client;
  Fd server;
  uint16_t port;
};

Connection connect() {
  Fd listener = tcp_socket();
  must(try_bind(listener.get(), 0), "bind");
  must(::listen(listener.get(), 1), "listen");
  sockaddr_in where{};
  socklen_t size = sizeof(where);
  must(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&where), &size), "getsockname");
  Fd client = tcp_socket();
  must(::connect(client.get(), reinterpret_cast<sockaddr*>(&where), size), "connect");
  Fd server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept");
  return {std::move(client), std::move(server), ntohs(where.sin_port)};
}

// In TIME_WAIT: the server has closed it first.
uint16_t closed_port() {
  Connection connection = connect();
  char byte;
  connection.server.close();
  must(::recv(connection.client.get(), &byte, 1, 0), "recv");
  return connection.port;
}

// More than its reader takes: closed now, it goes on until all has been read.
void fill(const Fd& fd) {
  static const std::array<char, 65536> bytes{};
  while (::send(fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) continue;
  if (errno != EAGAIN) must(-1, "send");
}

// As another user, until the end of the block.
class AsOther {
 public:
  AsOther() { must(::seteuid(kOtherUser), "seteuid"); }
  ~AsOther() {
    if (::seteuid(0) != 0) ::_exit(1);
  }
  AsOther(const AsOther&) = delete;
  AsOther& operator=(const AsOther&) = delete;
};

Fd restart_handle() {
  Fd device(::open("/dev/cryo", O_RDWR | O_CLOEXEC), "/dev/cryo");
  cryo_restart request{};
  request.size = sizeof(request);
  request.threads = 1;
  return {::ioctl(device.get(), CRYO_IOC_RESTART, &request), "CRYO_IOC_RESTART"};
}

class Test {
 public:
  int run() {
    refusals();
    open_connection();
    closed_connection();
    strangers_connection();
    unfinished_connection();
    other_namespace();
    return tap_.finish();
  }

 private:
  // 0, or an errno value.
  int release(int fd, uint32_t port, uint32_t reserved = 0) {
    cryo_port request{sizeof(request), fd, port, reserved};
    return ::ioctl(handle_.get(), CRYO_RST_PORT, &request) == 0 ? 0 : errno;
  }

  void expect(int got, int wanted, const std::string& what) {
    if (!tap_.ok(got == wanted, what)) tap_.diag(std::string("it is ") + std::strerror(got));
  }

  void refusals() {
    Fd tcp = tcp_socket();
    Fd udp(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
    Fd local(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    Fd raw(::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_TCP), "socket");
    Fd file(::open("/dev/null", O_RDWR | O_CLOEXEC), "/dev/null");
    expect(release(udp.get(), 8000), EINVAL, "a UDP socket is refused");
    expect(release(local.get(), 8000), EINVAL, "a Unix socket");
    expect(release(raw.get(), 8000), EINVAL, "a raw socket");
    expect(release(file.get(), 8000), ENOTSOCK, "a device");
    expect(release(-1, 8000), EBADF, "no descriptor");
    expect(release(tcp.get(), 0), EINVAL, "port 0");
    expect(release(tcp.get(), 65536), EINVAL, "port 65536");
    expect(release(tcp.get(), 8000, 1), EINVAL, "what is reserved");
    expect(release(tcp.get(), 65535), 0, "port 65535 is one");
    expect(release(tcp.get(), 80), 0, "root may have port 80");
    AsOther other;
    expect(release(tcp.get(), 80), EACCES, "another may not");
    expect(release(tcp.get(), 8000), 0, "... but port 8000");
  }

  void open_connection() {
    Connection connection = connect();
    expect(release(connection.client.get(), connection.port), 0, "the port of an open connection");
    expect(bind_error(connection.port), EADDRINUSE, "... is not to be had");
  }

  void closed_connection() {
    const uint16_t port = closed_port();
    expect(bind_error(port), EADDRINUSE, "a closed connection keeps its port");
    Fd fd = tcp_socket();
    expect(release(fd.get(), port), 0, "that can be asked for");
    expect(bind_error(port), 0, "... and had");
  }

  // Of one in TIME_WAIT nothing tells whose it was.
  void strangers_connection() {
    const uint16_t port = closed_port();
    Fd fd = tcp_socket();
    {
      AsOther other;
      expect(release(fd.get(), port), EPERM, "another user may not ask for a port in TIME_WAIT");
    }
    expect(bind_error(port), EADDRINUSE, "... it is kept");
    set_parameter("Y");
    {
      AsOther other;
      expect(release(fd.get(), port), 0, "with the parameter time_wait_ports he may");
    }
    set_parameter("N");
    expect(bind_error(port), 0, "... and it can be had");
  }

  static void set_parameter(const char* value) {
    std::ofstream file("/sys/module/cryo/parameters/time_wait_ports");
    if (!(file << value << std::flush)) throw std::runtime_error("time_wait_ports");
  }

  void unfinished_connection() {
    Connection connection = connect();
    fill(connection.server);
    connection.server.close();
    expect(bind_error(connection.port), EADDRINUSE, "one that has not said all yet keeps its port");
    {
      AsOther other;
      expect(release(connection.client.get(), connection.port), 0, "when another user asks");
    }
    expect(bind_error(connection.port), EADDRINUSE, "... it still does");
    expect(release(connection.client.get(), connection.port), 0, "when its own user asks");
    expect(bind_error(connection.port), 0, "... the port can be had");
  }

  void other_namespace() {
    Fd outside = tcp_socket();
    must(::unshare(CLONE_NEWNET), "unshare");
    Fd inside = tcp_socket();
    ifreq loopback{};
    std::strcpy(loopback.ifr_name, "lo");
    loopback.ifr_flags = IFF_UP;
    must(::ioctl(inside.get(), SIOCSIFFLAGS, &loopback), "lo");
    const uint16_t port = closed_port();
    expect(release(outside.get(), port), 0, "from another network namespace");
    expect(bind_error(port), EADDRINUSE, "... no port is given up");
    expect(release(inside.get(), port), 0, "from the same");
    expect(bind_error(port), 0, "... it is");
  }

  crt::Tap tap_;
  Fd handle_ = restart_handle();
};

}  // namespace

int main() {
  try {
    return Test().run();
  } catch (const std::exception& e) {
    std::cout << "Bail out! " << e.what() << std::endl;
    return 1;
  }
}
