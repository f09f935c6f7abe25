// SPDX-License-Identifier: GPL-2.0-only
// Sections about sockets that do not listen.
#include <linux/filter.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "context/file_kinds.h"
#include "context/staging.h"

namespace cryo {
namespace {

constexpr std::size_t kMaxDatagram = 65535;
constexpr std::size_t kMaxPassed = 253;  // SCM_MAX_FD
constexpr std::uint32_t kStateFlags = CRYO_SOCK_STATE_UNLINKED | CRYO_SOCK_STATE_LISTENER |
                                      CRYO_SOCK_STATE_ANY_ADDRESS | CRYO_SOCK_STATE_FREEBIND |
                                      CRYO_SOCK_STATE_REUSEPORT | CRYO_SOCK_STATE_BOUND;

// Takes from the front of `rest`.
std::span<const std::byte> take(const Payload& payload, std::span<const std::byte>& rest, std::size_t size,
                                const char* what) {
  if (rest.size() < size) payload.damaged("{} of {} bytes is outside of it", what, size);
  const auto taken = rest.first(size);
  rest = rest.subspan(size);
  return taken;
}

Bytes take_bytes(const Payload& payload, std::span<const std::byte>& rest, std::size_t size,
                 const char* what) {
  const auto taken = take(payload, rest, size, what);
  return {taken.begin(), taken.end()};
}

Bytes take_address(const Payload& payload, std::span<const std::byte>& rest, std::size_t size) {
  if (size > kMaxSockaddr || size == 1) payload.damaged("an address of {} bytes", size);
  return take_bytes(payload, rest, size, "an address");
}

SocketMessage take_message(Staging& staging, const Payload& payload, std::span<const std::byte>& rest,
                           std::uint32_t record_size) {
  SocketMessage message;
  message.head = grown<cryo_sock_message>(take(payload, rest, record_size, "a message"));
  const cryo_sock_message& head = message.head;
  if (head.files > kMaxPassed) payload.damaged("{} files are passed with one message", head.files);
  if (head.flags & ~CRYO_SOCK_MESSAGE_CREDS)
    staging.unknown(payload.section(), "file {}: unknown flags {:#x} of a message", payload.object(),
                    head.flags & ~CRYO_SOCK_MESSAGE_CREDS);
  for (std::uint32_t i = 0; i < head.files; ++i)
    message.files.push_back(grown<std::uint32_t>(take(payload, rest, sizeof(std::uint32_t), "a file id")));
  message.name = take_address(payload, rest, head.name_len);
  message.data = take_bytes(payload, rest, head.length, "a message");
  return message;
}

std::vector<std::uint64_t> take_program(const Payload& payload, std::span<const std::byte>& rest,
                                        std::uint32_t length) {
  if (length > BPF_MAXINSNS) payload.damaged("a program of {} instructions", length);
  std::vector<std::uint64_t> program(length);
  const auto bytes = take(payload, rest, length * sizeof(std::uint64_t), "a program");
  std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(program)).begin());
  return program;
}

SocketGroup take_group(const Payload& payload, std::span<const std::byte>& rest, std::uint32_t record_size) {
  SocketGroup group;
  group.head = grown<cryo_sock_group>(take(payload, rest, record_size, "a group"));
  const cryo_sock_group& head = group.head;
  if (head.family != AF_INET && head.family != AF_INET6) payload.damaged("a group of family {}", head.family);
  if (head.mode > 1) payload.damaged("a group with mode {}", head.mode);
  const auto* name = reinterpret_cast<const char*>(head.device);
  group.device.assign(name, ::strnlen(name, sizeof(head.device)));
  if (group.device.empty() || group.device.size() == sizeof(head.device))
    payload.damaged("a group without a network interface");
  const auto sources =
      take(payload, rest, std::size_t{head.sources} * sizeof(head.group), "a list of sources");
  group.sources.resize(head.sources);
  std::ranges::copy(sources, std::as_writable_bytes(std::span(group.sources)).begin());
  return group;
}

}  // namespace

void parse_sock_groups(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const auto head = payload.fixed<cryo_array>();
  if (head.count != 0 && head.record_size < sizeof(std::uint64_t))
    payload.damaged("records of {} bytes are too short", head.record_size);
  std::vector<SocketGroup> groups;
  auto rest = payload.tail();
  for (std::uint32_t i = 0; i < head.count; ++i)
    groups.push_back(take_group(payload, rest, head.record_size));
  if (!rest.empty()) payload.damaged("{} bytes after the last group", rest.size());
  file_of(staging, payload).groups = std::move(groups);
}

void parse_sock_devices(Staging& staging, const Payload& payload) {
  staging.once(payload);
  std::vector<SocketDevice> devices;
  for (const cryo_sock_device& head : payload.array<cryo_sock_device>()) {
    const auto* name = reinterpret_cast<const char*>(head.device);
    devices.push_back({head, std::string(name, ::strnlen(name, sizeof(head.device)))});
    if (devices.back().device.size() == sizeof(head.device))
      payload.damaged("a network interface name without a terminator");
    const bool of_ip =
        head.level == IPPROTO_IP && (head.name == IP_MULTICAST_IF || head.name == IP_UNICAST_IF);
    const bool of_ipv6 =
        head.level == IPPROTO_IPV6 && (head.name == IPV6_MULTICAST_IF || head.name == IPV6_UNICAST_IF);
    if (!of_ip && !of_ipv6) payload.damaged("option {}, {} has no network interface", head.level, head.name);
  }
  file_of(staging, payload).devices = std::move(devices);
}

void parse_sockopts(Staging& staging, const Payload& payload) {
  staging.once(payload);
  auto options = payload.array<cryo_sockopt>();
  for (const cryo_sockopt& option : options)
    if (option.length > CRYO_SOCKOPT_SIZE)
      payload.damaged("option {}, {}: a value of {} bytes", option.level, option.name, option.length);
  file_of(staging, payload).options = std::move(options);
}

void parse_sock_filter(Staging& staging, const Payload& payload) {
  staging.once(payload);
  SocketFilter all{payload.fixed<cryo_sock_filter>(), {}, {}};
  auto rest = payload.tail();
  all.filter = take_program(payload, rest, all.head.filter);
  all.choice = take_program(payload, rest, all.head.choice);
  if (!rest.empty()) payload.damaged("{} bytes after the last instruction", rest.size());
  if (all.head.flags & ~CRYO_SOCK_FILTER_LOCKED)
    staging.unknown(payload.section(), "file {}: unknown flags {:#x} of a filter", payload.object(),
                    all.head.flags & ~CRYO_SOCK_FILTER_LOCKED);
  file_of(staging, payload).filter = std::move(all);
}

void parse_socket_net(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const auto head = payload.fixed<cryo_socket_net>();
  File& file = file_of(staging, payload);
  file.net = head.net;
  file.name_mnt = head.mnt;
}

void parse_socket_file(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const auto inode = payload.fixed<cryo_inode>();
  if (!S_ISSOCK(inode.mode))
    payload.damaged("file {}: a socket's name stands for something else", payload.object());
  file_of(staging, payload).socket_file = inode;
}

void parse_sockstate(Staging& staging, const Payload& payload) {
  staging.once(payload);
  SocketState state{payload.fixed<cryo_sock_state>(), {}, {}, {}};
  const cryo_sock_state& head = state.head;
  auto rest = payload.tail();
  state.name = take_address(payload, rest, head.name_len);
  state.peer_name = take_address(payload, rest, head.peer_name_len);
  if (head.path_len >= kMaxPath) payload.damaged("a path of {} bytes", head.path_len);
  const Bytes path = take_bytes(payload, rest, head.path_len, "a path");
  state.path.assign(reinterpret_cast<const char*>(path.data()), path.size());
  if (state.path.find('\0') != std::string::npos) payload.damaged("a NUL byte is inside its path");
  if (!rest.empty()) payload.damaged("{} bytes after its names", rest.size());
  if (head.state > CRYO_SOCK_CONNECTING)
    staging.unknown(payload.section(), "file {}: unknown state {}", payload.object(), head.state);
  if (head.flags & ~kStateFlags)
    staging.unknown(payload.section(), "file {}: unknown flags {:#x}", payload.object(),
                    head.flags & ~kStateFlags);
  if (head.shutdown > 3) payload.damaged("{} is no state of being shut down", head.shutdown);
  file_of(staging, payload).connection = std::move(state);
}

void parse_sockqueue(Staging& staging, const Payload& payload) {
  staging.once(payload);
  const auto head = payload.fixed<cryo_sock_queue>();
  std::vector<SocketMessage> queue;
  auto rest = payload.tail();
  if (head.messages != 0 && head.record_size < sizeof(std::uint64_t))
    payload.damaged("records of {} bytes are too short", head.record_size);
  for (std::uint32_t i = 0; i < head.messages; ++i)
    queue.push_back(take_message(staging, payload, rest, head.record_size));
  if (!rest.empty()) payload.damaged("{} bytes after the last message", rest.size());
  file_of(staging, payload).queue = std::move(queue);
}

namespace {

bool is_socket(const Context& context, std::uint32_t id) {
  const auto file = context.files.find(id);
  return file != context.files.end() && (file->second.connection || file->second.socket);
}

// A socket of its own; what waits in it says from where it came.
void check_raw(const FileInContext& in) {
  in.require(in.file.connection.has_value(), "SOCKSTATE");
  const cryo_sock_state& head = in.file.connection->head;
  const bool v6 = head.family == AF_INET6;
  if ((!v6 && head.family != AF_INET) || (head.type != SOCK_RAW && head.type != SOCK_DGRAM))
    inconsistent(in.staging, "file {}: a raw or ping socket of family {}, type {}", in.file.id, head.family,
                 head.type);
  const std::size_t size = v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  const bool connected = head.state == CRYO_SOCK_CONNECTED;
  if (head.state > CRYO_SOCK_CONNECTED || in.file.connection->name.size() != size ||
      in.file.connection->peer_name.size() != (connected ? size : 0))
    inconsistent(in.staging, "file {}: a raw or ping socket cannot have such names", in.file.id);
  if (!in.file.queue.empty())
    inconsistent(in.staging, "file {}: a raw or ping socket with a queue", in.file.id);
}

void check_udp(const FileInContext& in) {
  in.require(in.file.connection.has_value(), "SOCKSTATE");
  const cryo_sock_state& head = in.file.connection->head;
  const bool v6 = head.family == AF_INET6;
  if (!v6 && head.family != AF_INET)
    inconsistent(in.staging, "file {}: UDP of the family {}", in.file.id, head.family);
  const std::size_t size = v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  const bool connected = head.state == CRYO_SOCK_CONNECTED;
  if (head.state > CRYO_SOCK_CONNECTED || in.file.connection->name.size() != size ||
      in.file.connection->peer_name.size() != (connected ? size : 0))
    inconsistent(in.staging, "file {}: a UDP socket cannot have such names", in.file.id);
  for (const SocketMessage& message : in.file.queue) {
    cryo_udp_origin origin{};
    if (message.name.size() == sizeof(origin)) std::memcpy(&origin, message.name.data(), sizeof(origin));
    const bool family = origin.family == AF_INET || (v6 && origin.family == AF_INET6);
    if (!family || !message.files.empty() || message.data.size() > kMaxDatagram)
      inconsistent(in.staging, "file {}: such a datagram cannot be in a UDP socket", in.file.id);
  }
}

// A connection has two ends that know of each other; what messages name is there.
void check_connection(const FileInContext& in) {
  in.require(in.file.connection.has_value(), "SOCKSTATE");
  const cryo_sock_state& head = in.file.connection->head;
  if (head.state == CRYO_SOCK_CONNECTED) {
    const auto peer = in.context.files.find(head.peer);
    if (peer == in.context.files.end() || !peer->second.connection)
      inconsistent(in.staging, "file {}: its other end, file {}, is not there", in.file.id, head.peer);
    const cryo_sock_state& other = peer->second.connection->head;
    // An IPv6 socket can be connected to an IPv4 one.
    constexpr std::uint32_t kUnix = 1;
    if ((other.family == kUnix) != (head.family == kUnix) || other.type != head.type)
      inconsistent(in.staging, "file {}: its other end, file {}, is of another kind", in.file.id, head.peer);
    const bool one_way = head.type == 2;  // SOCK_DGRAM
    if (!one_way && (other.state != CRYO_SOCK_CONNECTED || other.peer != in.file.id))
      inconsistent(in.staging, "file {}: its other end, file {}, has another one", in.file.id, head.peer);
  }
  if (head.state == CRYO_SOCK_CONNECTING &&
      (in.file.head.kind != CRYO_FILE_TCP || in.file.connection->peer_name.empty() || !in.file.queue.empty()))
    inconsistent(in.staging, "file {}: such a socket cannot be in the middle of connect()", in.file.id);
  if (in.file.head.kind == CRYO_FILE_WAITING) {
    const auto listener = in.context.files.find(head.listener);
    if (listener == in.context.files.end() || !listener->second.socket)
      inconsistent(in.staging, "file {}: waits at file {}, which does not listen", in.file.id, head.listener);
  }
  for (const SocketMessage& message : in.file.queue) {
    if (message.head.sender != 0 && !is_socket(in.context, message.head.sender))
      inconsistent(in.staging, "file {}: a message from file {}, which is no socket", in.file.id,
                   message.head.sender);
    for (const std::uint32_t id : message.files) {
      const auto passed = in.context.files.find(id);
      if (passed == in.context.files.end() || passed->second.head.kind == CRYO_FILE_WAITING)
        inconsistent(in.staging, "file {}: file {} is passed to it, which is not there", in.file.id, id);
    }
  }
}

void check_netlink(const FileInContext& in) {
  in.require(in.file.connection.has_value(), "SOCKSTATE");
  in.require(in.file.connection->name.size() == sizeof(sockaddr_nl) &&
                 in.file.connection->peer_name.size() == sizeof(sockaddr_nl),
             "netlink address");
}

}  // namespace

const FileKindModel kSocketModel = {
    .kind = CRYO_FILE_SOCKET, .name = "socket", .check = [](const FileInContext& in) {
      in.require(in.file.socket.has_value(), "SOCKET");
    }};
const FileKindModel kUnixModel = {.kind = CRYO_FILE_UNIX, .name = "unix-socket", .check = check_connection};
const FileKindModel kTcpModel = {.kind = CRYO_FILE_TCP, .name = "tcp-socket", .check = check_connection};
const FileKindModel kWaitingModel = {
    .kind = CRYO_FILE_WAITING, .name = "waiting-connection", .check = check_connection};
const FileKindModel kUdpModel = {.kind = CRYO_FILE_UDP, .name = "udp-socket", .check = check_udp};
const FileKindModel kRawModel = {.kind = CRYO_FILE_RAW, .name = "raw-socket", .check = check_raw};
const FileKindModel kNetlinkModel = {
    .kind = CRYO_FILE_NETLINK, .name = "netlink-socket", .check = check_netlink};

}  // namespace cryo
