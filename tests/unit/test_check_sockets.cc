// SPDX-License-Identifier: GPL-2.0-only
// What stands in the way of sockets: others that are there, addresses that are not, and what the
// administrator allows.
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/unique_fd.h"
#include "restart/check/check.h"
#include "restart/files/pty.h"
#include "restart/net/socket_holder.h"
#include "restart/net/sockets.h"
#include "unit/context_builder.h"
#include "unit/obstacles.h"
#include "unit/tap.h"

namespace cryo::test {
namespace {

constexpr const char* kElsewhere = "192.0.2.77";  // TEST-NET-1 of RFC 5737: no machine's
constexpr const char* kHere = "127.0.0.1";

Bytes name_of(const char* address, std::uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  ::inet_pton(AF_INET, address, &name.sin_addr);
  return bytes_of(name);
}

// Somebody else's; 0 in `backlog`: does not listen.
class Others {
 public:
  explicit Others(int type, int backlog = 0, bool reuse = false)
      : fd_(::socket(AF_INET, type | SOCK_CLOEXEC, 0)) {
    const int on = reuse ? 1 : 0;
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    const Bytes name = name_of(kHere, 0);
    sockaddr_in got{};
    socklen_t size = sizeof(got);
    if (::bind(fd_.get(), raw(name), sizeof(got)) != 0 ||
        (backlog != 0 && ::listen(fd_.get(), backlog) != 0) ||
        ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&got), &size) != 0)
      fail_errno("cannot have a port");
    port_ = ntohs(got.sin_port);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
  std::uint16_t port_ = 0;
};

struct SocketCase {
  ContextBuilder builder = sample();
  File* file = nullptr;

  [[nodiscard]] Findings findings() const {
    Findings all;
    check_files(builder.context, {}, {}, all);
    return all;
  }
};

SocketCase listener_at(const Bytes& name) {
  SocketCase made;
  made.file = &add_file(made.builder, CRYO_FILE_SOCKET, "socket", 0);
  made.file->socket.emplace();
  made.file->socket->head.family = AF_INET;
  made.file->socket->head.type = SOCK_STREAM;
  made.file->socket->address = name;
  return made;
}

SocketCase connection(std::uint32_t kind, std::uint32_t state, const Bytes& name, const Bytes& peer) {
  SocketCase made;
  made.file = &add_file(made.builder, kind, "socket", 0);
  made.file->connection.emplace();
  cryo_sock_state& head = made.file->connection->head;
  head.family = AF_INET;
  head.type = kind == CRYO_FILE_UDP ? SOCK_DGRAM : SOCK_STREAM;
  head.protocol = kind == CRYO_FILE_UDP ? IPPROTO_UDP : IPPROTO_TCP;
  head.state = state;
  made.file->connection->name = name;
  made.file->connection->peer_name = peer;
  return made;
}

void set_saved(File& file, int name, int value) {
  cryo_sockopt option{};
  option.level = SOL_SOCKET;
  option.name = static_cast<std::uint32_t>(name);
  option.length = sizeof(value);
  std::memcpy(option.value, &value, sizeof(value));
  file.options.push_back(option);
}

TEST("sockets: listeners") {
  const Others listening(SOCK_STREAM, 5), bound(SOCK_STREAM);
  SAYS(listener_at(name_of(kHere, listening.port())).findings(), EADDRINUSE,
       "pid 3999999: descriptor 3 (socket): TCP 127.0.0.1:{} is in use by cr_restart itself",
       listening.port());
  SAYS(listener_at(name_of(kHere, bound.port())).findings(), EADDRINUSE,
       "pid 3999999: descriptor 3 (socket): TCP 127.0.0.1:{} is in use", bound.port());
  SAYS(listener_at(name_of(kElsewhere, 4711)).findings(), EADDRNOTAVAIL,
       "pid 3999999: descriptor 3 (socket): cannot be at 192.0.2.77:4711 again: Cannot assign requested "
       "address (EADDRNOTAVAIL)");
  std::uint16_t port = 0;
  {
    const Others gone(SOCK_STREAM);
    port = gone.port();
  }
  CHECK(listener_at(name_of(kHere, port)).findings().problems.empty());
  if (::geteuid() == 0) return;
  std::uint16_t first = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_unprivileged_port_start") >> first;
  if (first <= 80) return;
  SAYS(listener_at(name_of(kHere, 80)).findings(), EACCES,
       "pid 3999999: descriptor 3 (socket): cannot be at 127.0.0.1:80 again: Permission denied (EACCES)");
}

TEST("sockets: of connections") {
  const Others listening(SOCK_STREAM, 5);
  const Bytes here = name_of(kHere, 0), taken = name_of(kHere, listening.port()),
              elsewhere = name_of(kElsewhere, 4711);
  SAYS(connection(CRYO_FILE_TCP, CRYO_SOCK_UNCONNECTED, taken, {}).findings(), EADDRINUSE,
       "pid 3999999: descriptor 3 (socket): TCP 127.0.0.1:{} is in use by cr_restart itself",
       listening.port());
  SAYS(connection(CRYO_FILE_TCP, CRYO_SOCK_CONNECTED, taken, here).findings(), EADDRINUSE,
       "pid 3999999: descriptor 3 (socket): TCP 127.0.0.1:{} is in use by cr_restart itself",
       listening.port());
  for (const SocketCase& made : {connection(CRYO_FILE_TCP, CRYO_SOCK_CONNECTED, elsewhere, here),
                                 connection(CRYO_FILE_TCP, CRYO_SOCK_PEER_GONE, here, elsewhere)})
    SAYS(made.findings(), EADDRNOTAVAIL,
         "pid 3999999: descriptor 3 (socket): cannot be at 192.0.2.77:4711 again: Cannot assign requested "
         "address (EADDRNOTAVAIL)");
  // It is not made at its address.
  CHECK(connection(CRYO_FILE_TCP, CRYO_SOCK_RESET, elsewhere, here).findings().problems.empty());
  // One that nobody has any more goes away by itself.
  SocketCase free = connection(CRYO_FILE_TCP, CRYO_SOCK_UNCONNECTED, elsewhere, {});
  free.file->connection->head.flags = CRYO_SOCK_STATE_FREEBIND;
  CHECK(free.findings().problems.empty());
}

TEST("sockets: of datagrams") {
  const Others taken(SOCK_DGRAM), shared(SOCK_DGRAM, 0, true);
  SAYS(connection(CRYO_FILE_UDP, CRYO_SOCK_UNCONNECTED, name_of(kHere, taken.port()), {}).findings(),
       EADDRINUSE, "pid 3999999: descriptor 3 (socket): UDP 127.0.0.1:{} is in use by cr_restart itself",
       taken.port());
  SAYS(connection(CRYO_FILE_UDP, CRYO_SOCK_UNCONNECTED, name_of(kElsewhere, 4711), {}).findings(),
       EADDRNOTAVAIL,
       "pid 3999999: descriptor 3 (socket): cannot be at 192.0.2.77:4711 again: Cannot assign requested "
       "address (EADDRNOTAVAIL)");
  SocketCase sharing = connection(CRYO_FILE_UDP, CRYO_SOCK_UNCONNECTED, name_of(kHere, shared.port()), {});
  set_saved(*sharing.file, SO_REUSEADDR, 1);
  const Findings findings = sharing.findings();
  CHECK(findings.problems.empty());
  CHECK_EQ(findings.warnings.size(), std::size_t{1});
  CHECK(
      !findings.warnings.empty() &&
      findings.warnings.front() ==
          fmt::format("pid 3999999: descriptor 3 (socket): UDP 127.0.0.1:{} is in use by cr_restart itself: "
                      "whether both may have it is seen when it is restored",
                      shared.port()));
  // From an address of this machine's own to one that only a network has.
  SocketCase connected = connection(CRYO_FILE_UDP, CRYO_SOCK_CONNECTED, name_of(kHere, 0), name_of(kHere, 9));
  CHECK(connected.findings().problems.empty());
  connected.file->connection->peer_name = name_of("255.255.255.255", 9);
  SAYS(connected.findings(), EACCES,
       "pid 3999999: descriptor 3 (socket): cannot be connected to 255.255.255.255:9 again: Permission "
       "denied (EACCES)");
}

sockaddr_in6 name_of_six(const in6_addr& address, std::uint16_t port) {
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_port = htons(port);
  name.sin6_addr = address;
  return name;
}

TEST("sockets: who has a port") {
  const Others tcp(SOCK_STREAM, 5), udp(SOCK_DGRAM);
  const std::string own = "cr_restart itself";
  CHECK_EQ(inet_holder(SOCK_STREAM, name_of(kHere, tcp.port())), own);
  CHECK_EQ(inet_holder(SOCK_STREAM, name_of("0.0.0.0", tcp.port())), own);
  CHECK_EQ(inet_holder(SOCK_STREAM, bytes_of(name_of_six(in6addr_any, tcp.port()))), own);
  CHECK_EQ(inet_holder(SOCK_DGRAM, name_of(kHere, udp.port())), own);
  // Of one that listens at another address, or has the same number of the other protocol.
  CHECK_EQ(inet_holder(SOCK_STREAM, name_of("127.0.0.2", tcp.port())), "");
  CHECK_EQ(inet_holder(SOCK_STREAM, bytes_of(name_of_six(in6addr_loopback, tcp.port()))), "");
  if (tcp.port() != udp.port()) CHECK_EQ(inet_holder(SOCK_DGRAM, name_of(kHere, tcp.port())), "");
  const UniqueFd six(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 all = name_of_six(in6addr_any, 0);
  socklen_t size = sizeof(all);
  if (::bind(six.get(), reinterpret_cast<const sockaddr*>(&all), size) != 0 || ::listen(six.get(), 1) != 0)
    return;
  ::getsockname(six.get(), reinterpret_cast<sockaddr*>(&all), &size);
  CHECK_EQ(inet_holder(SOCK_STREAM, name_of(kHere, ntohs(all.sin6_port))), own);
}

TEST("sockets: another process has a port") {
  auto taken = std::make_optional<Others>(SOCK_DGRAM);
  const std::uint16_t port = taken->port();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NAME, "holder");
    ::pause();
    ::_exit(0);
  }
  taken.reset();
  std::string text;
  for (int i = 0; i < 200 && !text.ends_with("(holder)"); ++i) {
    text = inet_holder(SOCK_DGRAM, name_of(kHere, port));
    ::usleep(10000);
  }
  CHECK_EQ(text, fmt::format("process {} (holder)", child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK_EQ(inet_holder(SOCK_DGRAM, name_of(kHere, port)), "");
}

TEST("sockets: who has an abstract name or a port of netlink") {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  constexpr char kName[] = "\0cryo a\0b";
  std::memcpy(name.sun_path, kName, sizeof(kName) - 1);
  const auto* bytes = reinterpret_cast<const std::byte*>(&name);
  const Bytes address(bytes, bytes + offsetof(sockaddr_un, sun_path) + sizeof(kName) - 1);
  const UniqueFd abstract(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  CHECK_EQ(abstract_holder(address), "");
  CHECK(::bind(abstract.get(), raw(address), static_cast<socklen_t>(address.size())) == 0);
  CHECK_EQ(abstract_holder(address), "cr_restart itself");
  const UniqueFd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  sockaddr_nl port{};
  port.nl_family = AF_NETLINK;
  port.nl_pid = 471100;
  CHECK_EQ(netlink_holder(NETLINK_ROUTE, port.nl_pid), "");
  CHECK(::bind(netlink.get(), reinterpret_cast<const sockaddr*>(&port), sizeof(port)) == 0);
  CHECK_EQ(netlink_holder(NETLINK_ROUTE, port.nl_pid), "cr_restart itself");
  CHECK_EQ(netlink_holder(NETLINK_KOBJECT_UEVENT, port.nl_pid), "");
}

TEST("sockets: what the administrator allows") {
  constexpr int kBufLock = 72, kLarge = 1 << 30;
  SocketCase made = connection(CRYO_FILE_UDP, CRYO_SOCK_UNCONNECTED, name_of(kHere, 0), {});
  set_saved(*made.file, SO_RCVBUF, kLarge);
  CHECK(made.findings().problems.empty());
  set_saved(*made.file, kBufLock, 2);
  // Who has the capability may have any.
  const UniqueFd probe(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const int half = kLarge / 2;
  const bool may = ::setsockopt(probe.get(), SOL_SOCKET, SO_RCVBUFFORCE, &half, sizeof(half)) == 0;
  if (may)
    CHECK(made.findings().problems.empty());
  else
    SAYS(made.findings(), EPERM,
         "pid 3999999: descriptor 3 (socket): cannot set the receive buffer of a socket to {} bytes: "
         "/proc/sys/net/core/rmem_max allows less",
         half);
}

TEST("sockets: what waits in them") {
  SocketCase made = connection(CRYO_FILE_UNIX, CRYO_SOCK_PEER_GONE, {}, {});
  made.file->connection->head.family = AF_UNIX;
  made.file->connection->head.protocol = 0;
  made.file->queue.resize(1);
  made.file->queue.front().data.resize(1000);
  CHECK(made.findings().problems.empty());
  const UniqueFd probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  raise_send_buffer(probe.get());
  int most = 0;
  socklen_t size = sizeof(most);
  ::getsockopt(probe.get(), SOL_SOCKET, SO_SNDBUF, &most, &size);
  if (most > 1 << 26) return;  // by who has the capability
  made.file->queue.front().data.resize(static_cast<std::size_t>(most) * 3);
  const Findings findings = made.findings();
  CHECK_EQ(findings.problems.size(), std::size_t{1});
  CHECK(!findings.problems.empty() && findings.problems.front().code == ENOBUFS &&
        findings.problems.front().text.ends_with(
            "back into the queue of a socket: more than /proc/sys/net/core/wmem_max allows"));
}

TEST("obstacles: timers of threads without their ids, and lines of terminals") {
  SocketCase made;
  cryo_posix_timer timer{};
  timer.id = 5;
  timer.notify = SIGEV_THREAD_ID;
  timer.notify_tid = 4000001;
  made.builder.process().posix_timers.timers.push_back(timer);
  timer.id = 6;
  timer.notify = SIGEV_SIGNAL;
  timer.clockid = -6;
  timer.clock_tid = 4000002;
  made.builder.process().posix_timers.timers.push_back(timer);
  RestartOptions options;
  Findings findings;
  check_process({made.builder.context, made.builder.process(), options, {}}, findings);
  CHECK(findings.problems.empty());
  options.restore_pid = false;
  check_process({made.builder.context, made.builder.process(), options, {}}, findings);
  SAYS(findings, EINVAL,
       "pid 3999999: POSIX timer 5 belongs to thread 4000001, which --no-restore-pid cannot restore");
  SAYS(findings, EINVAL,
       "pid 3999999: POSIX timer 6 belongs to thread 4000002, which --no-restore-pid cannot restore");

  Pty pty;
  pty.head.lflag = 2;  // ICANON
  pty.input = {std::byte{'a'}, std::byte{'b'}, std::byte{'c'}, std::byte{'\n'}};
  pty.line_ends = {std::byte{1}, std::byte{1}, std::byte{0}, std::byte{1}};
  CHECK(pty_problem(pty).empty());
  pty.line_ends[2] = std::byte{1};
  CHECK(pty_problem(pty) == "a pseudo-terminal has lines with more than two ends of their own");
  pty.head.lflag = 0;
  CHECK(pty_problem(pty).empty());
}

TEST("peers that are gone: those of processes in pid namespaces of the job are not named") {
  SocketCase one;
  one.builder.context.files.clear();
  one.builder.context.inodes.clear();
  Process& process = one.builder.context.processes.front();
  process.fds.clear();
  File& file = add_file(one.builder, CRYO_FILE_UNIX, "socket:[1]", S_IFSOCK);
  file.connection.emplace();
  file.connection->head.family = AF_UNIX;
  file.connection->head.type = SOCK_STREAM;
  file.connection->head.peer_pid = 54321;
  CHECK(gone_peers(one.builder.context) == std::set<pid_t>{54321});
  process.namespaces.pid = 1;
  CHECK(gone_peers(one.builder.context).empty());
}

}  // namespace
}  // namespace cryo::test
