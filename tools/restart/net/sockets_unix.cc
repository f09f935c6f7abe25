// SPDX-License-Identifier: GPL-2.0-only
// Unix sockets: connected with each other, bound, waiting to be accepted.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "restart/net/sockets.h"
#include "restart/ns/namespaces.h"

namespace cryo {
namespace {

const Bytes kNoName;

bool is_unix(const File& file) {
  return file.connection && file.connection->head.family == AF_UNIX;
}

SocketAddress address_of(const Bytes& name, const Relocations& relocations) {
  Socket socket;
  socket.head.family = AF_UNIX;
  socket.address = name;
  return socket_address(socket, relocations);
}

bool is_connected(const File& file) {
  return file.connection->head.state == CRYO_SOCK_CONNECTED;
}

const File& peer_of(const Context& context, const File& file) {
  return context.file(file.connection->head.peer);
}

// Two datagram sockets can be each other's, or one the other's alone.
bool is_mutual(const Context& context, const File& file) {
  if (!is_connected(file)) return false;
  const cryo_sock_state& peer = peer_of(context, file).connection->head;
  return peer.state == CRYO_SOCK_CONNECTED && peer.peer == file.id;
}

// What is abstract is so in one network namespace; and one name may have belonged to several, one after the
// other.
Bytes key_of(std::uint32_t net, const Bytes& name, bool unlinked) {
  constexpr std::size_t kPath = offsetof(sockaddr_un, sun_path);
  Bytes key = name;
  if (name.size() <= kPath) return key;
  if (name[kPath] != std::byte{}) net = unlinked ? 1 : 0;
  const auto* bytes = reinterpret_cast<const std::byte*>(&net);
  key.insert(key.end(), bytes, bytes + sizeof(net));
  return key;
}

bool is_unlinked(const File& file) {
  return file.socket ? (file.socket->head.flags & CRYO_SOCK_UNLINKED) != 0
                     : (file.connection->head.flags & CRYO_SOCK_STATE_UNLINKED) != 0;
}

std::string text_of(const Bytes& name) {
  const std::size_t skip = offsetof(sockaddr_un, sun_path);
  if (name.size() <= skip) return "a Unix address";
  std::string text(reinterpret_cast<const char*>(name.data()) + skip, name.size() - skip);
  if (text.front() == '\0') text.front() = '@';
  return std::string(text.c_str());
}

}  // namespace

// Who has it; of one that waits to be accepted, who has the socket where it waits.
std::vector<std::size_t> Sockets::holders(const File& file) const {
  auto use = uses_.find(file.id);
  if (use == uses_.end() && file.connection && file.head.kind == CRYO_FILE_WAITING)
    use = uses_.find(file.connection->head.listener);
  return use == uses_.end() || use->second.processes.empty() ? everybody(input_.context)
                                                             : use->second.processes;
}

Sockets::End Sockets::own_end(const File& file) const {
  const SocketState& state = *file.connection;
  return {&file,    state.name,        state.head.peer_uid, state.head.peer_gid,
          file.net, is_unlinked(file), holders(file)};
}

UniqueFd Sockets::unix_socket(std::uint32_t net, int type, const File* file) const {
  const NamesOf maker = NamesOf::maker_of(input_.context, file == nullptr ? 0 : file->head.inode);
  return input_.namespaces.socket(net, AF_UNIX, type | SOCK_NONBLOCK, 0);
}

void Sockets::bind_unix(int fd, const End& end) {
  if (end.file == nullptr || end.name.empty()) return;
  const NamesOf theirs(input_.context, end.processes, *end.file);
  unix_names_.bind(end.file->id, fd, unix_name_of(input_.context, *end.file, input_.options.relocations));
}

// The context's own, or one for the time being.
Sockets::Listener Sockets::listener_at(int type, const End& end, const End& seen_by) {
  const Bytes key = key_of(end.net, end.name, end.unlinked);
  if (const auto real = real_listeners_.find(key); real != real_listeners_.end()) return real->second;
  if (const auto made = listeners_.find(key); made != listeners_.end())
    return {made->second.first.get(), made->second.second};
  UniqueFd fd = unix_socket(end.net, type, end.file);
  bind_unix(fd.get(), end);
  const ActAs user(input_.context, seen_by.uid, seen_by.gid);
  if (::listen(fd.get(), 16) != 0) fail_errno("cannot listen at {}", text_of(end.name));
  fd = input_.descriptors.park(std::move(fd));
  const Listener listener{fd.get(), end.file->id};
  listeners_.emplace(key, std::make_pair(std::move(fd), listener.file));
  return listener;
}

// Not by the name, which may be somebody else's by now.
void Sockets::call(int fd, const Listener& listener) {
  sockaddr_storage where{};
  socklen_t size = sizeof(where);
  if (const std::optional<Bytes> way = unix_names_.way_to(listener.file)) {
    size = static_cast<socklen_t>(way->size());
    std::memcpy(&where, way->data(), way->size());
  } else if (::getsockname(listener.fd, reinterpret_cast<sockaddr*>(&where), &size) != 0) {
    fail_errno("getsockname");
  }
  if (names::connect(fd, reinterpret_cast<const sockaddr*>(&where), size) != 0)
    fail_errno("cannot connect a socket again to the one of file {}", listener.file);
}

// `a` is the one that was accepted, if any: such a socket has its listener's name.
Sockets::Connection Sockets::connect_unix(int type, const End& a, const End& b) {
  Connection made;
  if (a.name.empty() || type == SOCK_DGRAM) {
    auto [first, second] = input_.namespaces.socket_pair(a.net, type | SOCK_NONBLOCK, a.uid, a.gid);
    made = {std::move(first), std::move(second)};
    bind_unix(made.a.get(), a);
    bind_unix(made.b.get(), b);
    return made;
  }
  const Listener listener = listener_at(type, a, b);
  made.b = unix_socket(b.net, type, b.file);
  bind_unix(made.b.get(), b);
  // The name is that of the socket that listens there.
  const NamesOf theirs(input_.context, a.processes.empty() ? b.processes : a.processes);
  const ActAs user(input_.context, a.uid, a.gid);
  call(made.b.get(), listener);
  made.a = UniqueFd(::accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!made.a) fail_errno("cannot accept at {}", text_of(a.name));
  return made;
}

void Sockets::make_unix_listeners(bool unlinked) {
  for (const auto& [id, file] : input_.context.files) {
    if (!file.socket || file.socket->head.family != AF_UNIX || is_unlinked(file) != unlinked) continue;
    const auto use = uses_.find(id);
    const std::size_t owner = use == uses_.end() ? 0 : use->second.process;
    const NamesOf theirs(input_.context, holders(file), file);
    const Rights rights = rights_of(input_.context, input_.context.processes[owner]);
    keep(id, make_socket(input_, file, &unix_names_, &*rights.ids));
    real_listeners_.emplace(key_of(file.net, file.socket->address, unlinked),
                            Listener{fds_.at(id).get(), id});
  }
}

void Sockets::make_unix_pair(const File& file) {
  const File& other = peer_of(input_.context, file);
  // The accepted one first.
  const bool swap =
      other.connection->name.empty()
          ? false
          : file.connection->name.empty() ||
                real_listeners_.contains(key_of(other.net, other.connection->name, is_unlinked(other)));
  const File& a = swap ? other : file;
  const File& b = swap ? file : other;
  Connection made = connect_unix(static_cast<int>(file.connection->head.type), own_end(a), own_end(b));
  keep(a.id, std::move(made.a));
  keep(b.id, std::move(made.b));
}

// Not connected, or to somebody who is gone, or (datagrams) to somebody who is not connected to it.
void Sockets::make_unix_lonely(const File& file) {
  const SocketState& state = *file.connection;
  const int type = static_cast<int>(state.head.type);
  if (state.head.state != CRYO_SOCK_PEER_GONE) {
    UniqueFd fd = unix_socket(file.net, type, &file);
    if (type == SOCK_DGRAM && is_connected(file)) drop_all(fd.get());
    bind_unix(fd.get(), own_end(file));
    keep(file.id, std::move(fd));
    return;
  }
  const End self = own_end(file);
  // Which one it was is not known any more where a name has belonged to two.
  const bool with_name = real_listeners_.contains(key_of(file.net, state.peer_name, false));
  const bool called_listener = with_name || real_listeners_.contains(key_of(file.net, state.peer_name, true));
  End gone;
  gone.net = file.net;
  gone.unlinked = !with_name;
  if (called_listener) gone.name = state.peer_name;
  Connection made = called_listener ? connect_unix(type, gone, self) : connect_unix(type, self, gone);
  if (called_listener) std::swap(made.a, made.b);
  keep(file.id, std::move(made.a));
  peers_.emplace(file.id, input_.descriptors.park(std::move(made.b)));
}

void Sockets::make_unix_waiting(const File& file) {
  const SocketState& state = *file.connection;
  const int listener = fds_.at(state.head.listener).get();
  const int type = static_cast<int>(state.head.type);
  const File& end = is_connected(file) ? peer_of(input_.context, file) : file;
  UniqueFd caller = unix_socket(end.net, type, &end);
  if (is_connected(file)) bind_unix(caller.get(), own_end(peer_of(input_.context, file)));
  const NamesOf theirs(input_.context, holders(file), file);
  const ActAs user(input_.context, state.head.peer_uid, state.head.peer_gid);
  call(caller.get(), {listener, state.head.listener});
  if (is_connected(file))
    keep(state.head.peer, std::move(caller));
  else
    peers_.emplace(file.id, input_.descriptors.park(std::move(caller)));
}

void Sockets::make_unix_others(bool unlinked) {
  const Context& context = input_.context;
  for (const auto& [id, file] : context.files) {
    if (!is_unix(file) || fds_.contains(id) || file.head.kind == CRYO_FILE_WAITING) continue;
    const bool waits = is_connected(file) && peer_of(context, file).head.kind == CRYO_FILE_WAITING;
    if (waits) continue;
    const bool pair = is_mutual(context, file) && file.connection->head.peer != id;
    if (unlinked && !is_unlinked(file) && !(pair && is_unlinked(peer_of(context, file)))) continue;
    if (pair)
      make_unix_pair(file);
    else
      make_unix_lonely(file);
  }
}

// Those first that lose their name again: another one may have it now.
void Sockets::make_unix() {
  make_unix_listeners(true);
  make_unix_others(true);
  make_unix_listeners(false);
  make_unix_others(false);
  for (const auto& [id, file] : input_.context.files)
    if (is_unix(file) && file.head.kind == CRYO_FILE_WAITING) make_unix_waiting(file);
  listeners_.clear();
}

// ---- when all files are open ----

namespace {

// Nothing: a name of 108 bytes, which has no room for the byte that ends it, or one that is relocated to a
// longer one.
std::optional<SocketAddress> sender_address(const SocketMessage& message, const Relocations& relocations) {
  try {
    return address_of(message.name, relocations);
  } catch (const Error& error) {
    if (error.code() != ENAMETOOLONG) throw;
    return std::nullopt;
  }
}

}  // namespace

// For a sender that is not in the context: with its name, where that is free, or one of the file system.
UniqueFd Sockets::stand_in(const SocketMessage& message, const File& receiver) {
  UniqueFd fd = unix_socket(receiver.net, SOCK_DGRAM, nullptr);
  // Who makes the name removes it.
  const NamesOf theirs(input_.context, holders(receiver));
  const auto address = sender_address(message, input_.options.relocations);
  if (!address) return fd;
  if (!address->path.empty() && gone_name_problem(*address).empty())
    unix_names_.bind_gone(fd.get(), *address);
  else if (!address->bytes.empty() && address->path.empty())
    (void)::bind(fd.get(), raw(address->bytes), static_cast<socklen_t>(address->bytes.size()));
  return fd;
}

void Sockets::fill_datagrams(const File& file, const FileLookup& lookup) {
  const SocketState& state = *file.connection;
  const Bytes to =
      unix_names_.way_to(file.id).value_or(address_of(state.name, input_.options.relocations).bytes);
  const NamesOf theirs(input_.context, holders(file), file);
  for (const SocketMessage& message : file.queue) {
    // Who is not connected to it by now has to name it, also where it is connected itself.
    const bool from_peer = is_mutual(input_.context, file) && state.head.peer != file.id &&
                           message.head.sender == state.head.peer;
    UniqueFd stranger;
    int sender = -1;
    if (message.head.sender != 0)
      sender = lookup(message.head.sender);
    else if (const auto gone = peers_.find(file.id); gone != peers_.end())
      sender = gone->second.get();
    else
      sender = (stranger = stand_in(message, file)).get();
    raise_send_buffer(sender);
    const bool by_name = !to.empty() && !from_peer && !peers_.contains(file.id);
    send_datagram(sender, message, by_name ? to : kNoName, lookup);
  }
}

void Sockets::fill_unix(const File& file, const FileLookup& lookup) {
  const SocketState& state = *file.connection;
  if (state.head.type == SOCK_DGRAM) {
    fill_datagrams(file, lookup);
  } else if (!file.queue.empty()) {
    const auto gone = peers_.find(file.id);
    const int from = gone != peers_.end() ? gone->second.get() : lookup(state.head.peer);
    send_messages(from, static_cast<int>(state.head.type), file.queue, lookup);
  }
  // What the other end had not read when it was closed.
  if (state.head.state == CRYO_SOCK_PEER_GONE && state.head.error == ECONNRESET &&
      file.head.kind != CRYO_FILE_WAITING)
    (void)::send(lookup(file.id), "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Sockets::connect_datagram(const File& file, const FileLookup& lookup) {
  const File& peer = peer_of(input_.context, file);
  const NamesOf theirs(input_.context, holders(peer), peer);
  call(lookup(file.id), {lookup(peer.id), peer.id});
}

void Sockets::finish_unix(const FileLookup& lookup) {
  const auto one_way = [this](const File& file) {
    return is_unix(file) && file.connection->head.type == SOCK_DGRAM && is_connected(file) &&
           !(is_mutual(input_.context, file) && file.connection->head.peer != file.id);
  };
  // What one was sent before it was connected came from anybody: so it is filled first. Until then, others'
  // messages are dropped.
  for (const auto& [id, file] : input_.context.files) {
    if (!is_unix(file)) continue;
    if (one_way(file) && !file.queue.empty()) stop_dropping(lookup(id));
    fill_unix(file, lookup);
    if (one_way(file)) connect_datagram(file, lookup);
    if (one_way(file) && file.queue.empty()) stop_dropping(lookup(id));
  }
}

std::string sender_problem(const File& file, const RestartOptions& options) {
  if (!is_unix(file) || file.connection->head.type != SOCK_DGRAM) return "";
  for (const SocketMessage& message : file.queue) {
    if (message.head.sender != 0) continue;
    const auto address = sender_address(message, options.relocations);
    if (!address) return "a datagram that waits will have lost its sender's name, which is too long";
    if (std::string text = gone_name_problem(*address); !text.empty()) return text;
  }
  return "";
}

std::string connection_problem(const Context& context, const File& file, const RestartOptions& options,
                               int& code) {
  if (!is_unix(file)) return "";
  for (const auto& [id, other] : context.files)
    if (other.socket && other.socket->address == file.connection->name) return "";
  return unix_name_problem(context, file, options, code);
}

}  // namespace cryo
