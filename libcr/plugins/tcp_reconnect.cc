// SPDX-License-Identifier: LGPL-2.1-or-later
// tcp-reconnect: connections to the addresses in CRYO_TCP_RECONNECT are closed before a checkpoint, which
// would be refused otherwise, and made again after it and after a restart.
//
// In between there is a socket without a connection at the same descriptor, so that nothing else gets the
// number, and nothing that is written meanwhile seems to arrive. The new connection is made on a third
// socket, which takes the place of that one when it is there: who writes meanwhile in another thread would
// take the error of an attempt that failed, and it would look like one that had come through.
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "../cr_plugin.h"
#include "../libcr.h"

namespace {

constexpr int kMaxAddresses = 16;
constexpr int kMaxConnections = 256;
constexpr int kConnectMs = 10000;

union Address {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

struct Connection {
  int fd;
  ino_t socket;  // the one that was closed: several descriptors may have been of it
  int flags;     // O_NONBLOCK and the like
  bool is_closed;
  Address peer;
};

Address g_addresses[kMaxAddresses];
int g_address_count = 0;
Connection g_connections[kMaxConnections];
int g_connection_count = 0;

socklen_t size_of(const Address& address) {
  return address.any.sa_family == AF_INET ? sizeof(address.v4) : sizeof(address.v6);
}

bool is_same(const Address& a, const Address& b) {
  if (a.any.sa_family != b.any.sa_family) return false;
  if (a.any.sa_family == AF_INET)
    return a.v4.sin_port == b.v4.sin_port && a.v4.sin_addr.s_addr == b.v4.sin_addr.s_addr;
  return a.v6.sin6_port == b.v6.sin6_port &&
         ::memcmp(&a.v6.sin6_addr, &b.v6.sin6_addr, sizeof(a.v6.sin6_addr)) == 0;
}

// ---- the addresses: 192.0.2.1:80 or [2001:db8::1]:80, with commas between them

bool parse(char* text, Address& address) {
  char* const colon = ::strrchr(text, ':');
  if (colon == nullptr) return false;
  char* end = nullptr;
  const unsigned long port = ::strtoul(colon + 1, &end, 10);
  if (end == colon + 1 || *end != '\0' || port == 0 || port > UINT16_MAX) return false;
  *colon = '\0';
  ::memset(&address, 0, sizeof(address));
  const std::size_t length = ::strlen(text);
  if (*text == '[' && text[length - 1] == ']') {
    text[length - 1] = '\0';
    address.v6.sin6_family = AF_INET6;
    address.v6.sin6_port = htons(static_cast<in_port_t>(port));
    return ::inet_pton(AF_INET6, text + 1, &address.v6.sin6_addr) == 1;
  }
  address.v4.sin_family = AF_INET;
  address.v4.sin_port = htons(static_cast<in_port_t>(port));
  return ::inet_pton(AF_INET, text, &address.v4.sin_addr) == 1;
}

// 0, or an errno value.
int parse_all(const char* list) {
  char* const copy = list == nullptr ? nullptr : ::strdup(list);
  if (copy == nullptr) return list == nullptr ? EINVAL : ENOMEM;
  int error = 0;
  char* rest = copy;
  for (char* text = ::strsep(&rest, ","); text != nullptr && error == 0; text = ::strsep(&rest, ",")) {
    if (g_address_count == kMaxAddresses)
      error = E2BIG;
    else if (!parse(text, g_addresses[g_address_count++]))
      error = EINVAL;
  }
  ::free(copy);
  return error;
}

// ---- before the checkpoint

bool is_wanted(int fd, Connection& connection) {
  int type = 0;
  socklen_t size = sizeof(type);
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) return false;
  size = sizeof(connection.peer);
  if (::getpeername(fd, &connection.peer.any, &size) != 0) return false;
  for (int i = 0; i < g_address_count; ++i)
    if (is_same(g_addresses[i], connection.peer)) return true;
  return false;
}

// Connections are many things; these settings of theirs are what programs use.
void copy_options(int from, int to) {
  static constexpr int kOptions[][2] = {
      {SOL_SOCKET, SO_KEEPALIVE},   {SOL_SOCKET, SO_RCVTIMEO},  {SOL_SOCKET, SO_SNDTIMEO},
      {SOL_SOCKET, SO_LINGER},      {IPPROTO_TCP, TCP_NODELAY}, {IPPROTO_TCP, TCP_KEEPIDLE},
      {IPPROTO_TCP, TCP_KEEPINTVL}, {IPPROTO_TCP, TCP_KEEPCNT}, {IPPROTO_TCP, TCP_USER_TIMEOUT}};
  for (const auto& [level, name] : kOptions) {
    char value[64];
    socklen_t size = sizeof(value);
    if (::getsockopt(from, level, name, value, &size) == 0) ::setsockopt(to, level, name, value, size);
  }
}

void note(int fd) {
  Connection& connection = g_connections[g_connection_count];
  struct stat status {};
  // One too many: the checkpoint will be refused, and say why.
  if (g_connection_count == kMaxConnections || !is_wanted(fd, connection) || ::fstat(fd, &status) != 0)
    return;
  connection.fd = fd;
  connection.socket = status.st_ino;
  connection.is_closed = false;
  connection.flags = ::fcntl(fd, F_GETFL);
  ++g_connection_count;
}

void find_all() {
  g_connection_count = 0;
  DIR* const directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return;
  while (const dirent* entry = ::readdir(directory)) {
    const int fd = ::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != ::dirfd(directory)) note(fd);
  }
  ::closedir(directory);
}

// The descriptor of the same connection that comes first, which is `at` itself if there is no other.
const Connection& first_of(const Connection& at) {
  const Connection* first = g_connections;
  while (first->socket != at.socket) ++first;
  return *first;
}

// A socket like that of `at`, without a connection.
int socket_like(const Connection& at) {
  const int made = ::socket(at.peer.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) return -1;
  copy_options(at.fd, made);
  ::fcntl(made, F_SETFL, at.flags);
  return made;
}

// A socket to take the place of `at`; the one that another descriptor of the same connection has got already.
int replacement_for(const Connection& at) {
  const Connection& first = first_of(at);
  if (&first != &at) return ::fcntl(first.fd, F_DUPFD_CLOEXEC, 0);
  const int made = socket_like(at);
  if (made >= 0) ::shutdown(at.fd, SHUT_RDWR);  // wakes those who wait for it
  return made;
}

void put_in_place(int socket, int fd) {
  ::dup3(socket, fd, (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
}

// All are known before the first is shut down: it may have no peer any more then.
void close_all() {
  find_all();
  for (int i = 0; i < g_connection_count; ++i) {
    Connection& connection = g_connections[i];
    const int replacement = replacement_for(connection);
    if (replacement < 0) continue;
    put_in_place(replacement, connection.fd);
    connection.is_closed = true;
    ::close(replacement);
  }
}

// ---- after it

int wait_connected(int fd) {
  pollfd wait{fd, POLLOUT, 0};
  int error = 0;
  socklen_t size = sizeof(error);
  const int ready = ::poll(&wait, 1, kConnectMs);
  if (ready == 0) return ETIMEDOUT;
  if (ready < 0 || ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

// 0, or an errno value. Never waits for longer than kConnectMs.
int connect_to(int fd, const Connection& connection) {
  ::fcntl(fd, F_SETFL, connection.flags | O_NONBLOCK);
  int error = ::connect(fd, &connection.peer.any, size_of(connection.peer)) == 0 ? 0 : errno;
  if (error == EINPROGRESS) error = wait_connected(fd);
  ::fcntl(fd, F_SETFL, connection.flags);
  return error;
}

// Is what close_all() put there still in its place? A restart has made a new one of it, which has no mark
// that it could be known by.
bool is_unconnected(int fd) {
  int type = 0;
  socklen_t size = sizeof(type);
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) return false;
  Address peer;
  size = sizeof(peer);
  return ::getpeername(fd, &peer.any, &size) != 0 && errno == ENOTCONN;
}

// In all descriptors that were of the connection, but where the program has put something else meanwhile.
void replace_all(const Connection& first, int socket) {
  for (int i = 0; i < g_connection_count; ++i) {
    const Connection& at = g_connections[i];
    if (at.socket == first.socket && at.is_closed && is_unconnected(at.fd)) put_in_place(socket, at.fd);
  }
}

// 0, or an errno value.
int connect_again(const Connection& first) {
  if (!first.is_closed) return 0;
  const int made = socket_like(first);
  if (made < 0) return errno;
  const int error = connect_to(made, first);
  if (error == 0) replace_all(first, made);
  ::close(made);
  return error;
}

void connect_all() {
  for (int i = 0; i < g_connection_count; ++i) {
    const bool is_first = &first_of(g_connections[i]) == &g_connections[i];
    const int error = is_first ? connect_again(g_connections[i]) : 0;
    if (error != 0)
      ::fprintf(stderr, "tcp-reconnect: descriptor %d cannot be connected again: %s\n", g_connections[i].fd,
                ::strerror(error));
  }
  g_connection_count = 0;
}

int around_checkpoint(void*) {
  close_all();
  ::cr_checkpoint(CR_CHECKPOINT_READY);
  connect_all();
  return 0;
}

int take_part() {
  if (::cr_init() < 0) return errno;
  return ::cr_register_callback(around_checkpoint, nullptr, CR_THREAD_CONTEXT) < 0 ? errno : 0;
}

// The library forgets callbacks in a child; this comes after that.
void after_fork_in_child() {
  g_connection_count = 0;
  take_part();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int cr_plugin_init(const cr_plugin_args*) {
  int error = parse_all(::secure_getenv("CRYO_TCP_RECONNECT"));
  if (error == 0) error = take_part();
  return error != 0 ? error : ::pthread_atfork(nullptr, nullptr, after_fork_in_child);
}
