// SPDX-License-Identifier: GPL-2.0-only
// Sockets that do not listen, and what waits in their queues.
//
// They are made in two steps.  First all of them are connected with each other, because a connection has
// two ends; then, when every file is open, their queues are filled from the other ends: files are passed in
// messages.  Options come last, because some of them change what is sent.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "restart/files/files.h"
#include "restart/net/unix_names.h"
#include "restart/rights/act_as.h"

namespace cryo {

struct Ledger;

// A descriptor of a file of the context.
using FileLookup = std::function<int(std::uint32_t)>;

// ---- socket_options.cc ----

// Sets what differs from the saved options.
void set_socket_options(int fd, const std::vector<cryo_sockopt>& options);
// As large as the caller's rights allow, until set_socket_options(); never less than it was. True: as large
// as can be.
bool raise_send_buffer(int fd);
bool raise_receive_buffer(int fd);
// Lets the kernel choose the sizes, as it does until somebody sets one.
void leave_buffers_to_kernel(int fd);
// Bytes that surely fit into a connection, half of both buffers being the kernel's own.
[[nodiscard]] std::size_t room_in_connection(int from, int to);
[[nodiscard]] std::optional<int> saved_option(const std::vector<cryo_sockopt>& options, std::uint32_t level,
                                              std::uint32_t name);

// ---- socket_devices.cc ----

// The saved ones, with the indexes that network interfaces have here.
[[nodiscard]] std::vector<cryo_sockopt> options_here(int fd, const File& file);
void set_socket_options(int fd, const File& file);
// Why they cannot be set; empty when they can.
[[nodiscard]] std::string device_problem(const File& file);

// ---- socket_filter.cc ----

// What goes through a filter comes after it, and what waits has come before it.
void attach_filter(int fd, const File& file);
// What comes to it is dropped until stop_dropping(): it is to be connected, and others may send to it before
// that.
void drop_all(int fd);
void stop_dropping(int fd);
// All sockets that share a port have it when one of them does.
void attach_choice(int fd, const File& file);
// All sockets of `context`; those of which the kernel numbers the ones with a port come in that order.
[[nodiscard]] std::vector<const File*> sockets_by_place(const Context& context);

// Why it cannot have its filter; empty when it can.
[[nodiscard]] std::string filter_problem(const File& file);

// ---- socket_groups.cc ----

void join_groups(int fd, const File& file);
// Why it cannot; empty when it can.
[[nodiscard]] std::string multicast_problem(const File& file);

// ---- socket_queue.cc ----

// Sends the messages `from` has to send so that they wait at the other end.
void send_messages(int from, int type, const std::vector<SocketMessage>& messages, const FileLookup& lookup);
// One datagram, to an address or, with none, to the peer.
void send_datagram(int from, const SocketMessage& message, const Bytes& to, const FileLookup& lookup);

// ---- socket.cc ----

// Before a listening socket is bound, in the network namespace of `fd`.
void prepare_to_bind(int fd, const Socket& saved);

// ---- socket_probe.cc ----

// Why a socket that is to be in the network namespace of cr_restart cannot have its address, options, or what
// waits in it; empty when it can, or soon will.  `code`: the errno value that goes with it; 0: it may come to
// that.
[[nodiscard]] std::string socket_problem(const Context& context, const File& file, int& code);

// ---- sockets_inet.cc ----

// Was bound with SO_REUSEPORT, or must have been, as another one of the job that has that has the port, too.
[[nodiscard]] bool shares_port(const Context& context, const File& file);

// ---- sockets_udp.cc ----

// To the address of `state`.  Throws Error.
void bind_udp(int fd, const SocketState& state);

// ---- sockets.cc ----

class Sockets {
 public:
  explicit Sockets(const FileRestoreInput& input)
      : input_(input), uses_(file_uses(input.context)), unix_names_(input) {}

  // All sockets of the context, parked.
  void make();
  [[nodiscard]] bool has(std::uint32_t file) const { return fds_.contains(file); }
  // Hands one over.
  [[nodiscard]] UniqueFd take(std::uint32_t file);
  // Once all files are open: queues, options, states.
  void finish(const FileLookup& lookup);

 private:
  struct End {
    const File* file = nullptr;  // nothing: its other end is closed
    Bytes name = {};
    std::uint32_t uid = 0, gid = 0;           // of the one whom its peer is to see
    std::uint32_t net = 0;                    // network namespace
    bool unlinked = false;                    // its name in the file system has been removed
    std::vector<std::size_t> processes = {};  // whose its name is
  };
  struct Listener {
    int fd = -1;
    std::uint32_t file = 0;  // by which UnixNames knows it
  };
  struct Connection {
    UniqueFd a, b;
  };

  void keep(std::uint32_t file, UniqueFd fd);
  [[nodiscard]] int end_of(std::uint32_t file, const FileLookup& lookup) const;

  // sockets_unix.cc
  [[nodiscard]] UniqueFd unix_socket(std::uint32_t net, int type, const File* file) const;
  void make_unix();
  void make_unix_listeners(bool unlinked);
  void make_unix_others(bool unlinked);
  void make_unix_pair(const File& file);
  void make_unix_lonely(const File& file);
  void make_unix_waiting(const File& file);
  [[nodiscard]] Connection connect_unix(int type, const End& a, const End& b);
  [[nodiscard]] Listener listener_at(int type, const End& end, const End& seen_by);
  void call(int fd, const Listener& listener);
  [[nodiscard]] std::vector<std::size_t> holders(const File& file) const;
  [[nodiscard]] End own_end(const File& file) const;
  void bind_unix(int fd, const End& end);
  void finish_unix(const FileLookup& lookup);
  void fill_unix(const File& file, const FileLookup& lookup);
  void fill_datagrams(const File& file, const FileLookup& lookup);
  void connect_datagram(const File& file, const FileLookup& lookup);
  [[nodiscard]] UniqueFd stand_in(const SocketMessage& message, const File& receiver);
  void shut_down(const File& file, const FileLookup& lookup);

  // sockets_inet.cc
  void make_tcp();
  void make_tcp_pair(const File& a, const File& b);
  void make_tcp_lonely(const File& file);
  void make_tcp_reset(const File& file);
  void make_tcp_connecting(const File& file);
  void make_tcp_waiting(const File& file);
  void keep_peer(std::uint32_t file, int listener);
  [[nodiscard]] UniqueFd tcp_listener_at(const File& file, const Bytes& name);
  void finish_tcp(const FileLookup& lookup);

  // sockets_netlink.cc
  void make_netlink();

  // sockets_udp.cc
  void make_udp();
  void finish_udp(const FileLookup& lookup);

  // sockets_raw.cc
  void make_raw();
  void finish_raw(const FileLookup& lookup);

  const FileRestoreInput& input_;
  std::map<std::uint32_t, FileUse> uses_;  // by file
  UnixNames unix_names_;
  std::map<std::uint32_t, UniqueFd> fds_;    // by file: not taken yet
  std::map<std::uint32_t, UniqueFd> peers_;  // by file: other ends that will be closed in finish()
  std::map<Bytes, std::pair<UniqueFd, std::uint32_t>>
      listeners_;                             // by key_of(), with a file: for the time of make()
  std::map<Bytes, Listener> real_listeners_;  // (same): those of the context
};

// ---- peer_pids.cc ----

struct GonePeerInput {
  const Context& context;
  const std::map<std::uint32_t, UniqueFd>& fds;  // by file
  int device_fd;
  int handle_fd;
  Ledger* ledger;
};

// Whom SO_PEERCRED is to name although they had ended by the checkpoint.
[[nodiscard]] std::set<pid_t> gone_peers(const Context& context);
// In the maker, before there are processes: SO_PEERCRED of Unix sockets names processes that were gone at the
// checkpoint.  Returns them, but for those whose number somebody has by now.
[[nodiscard]] std::set<pid_t> name_gone_peers(const GonePeerInput& input);

// Who accepts the connection whose other end is `fd` is told of no process, rather than of the one that has
// made it here.
void clear_peer_pid(int handle_fd, int fd);

// In a process, when all exist: SO_PEERCRED of the Unix sockets among `fds` names the processes that it
// named.
void name_peers(const Context& context, const RestartOptions& options, const std::set<pid_t>& named_before,
                const std::map<std::uint32_t, int>& fds, int handle_fd);
// Is there anything to name?
[[nodiscard]] bool has_peer(const File& file);

// Of whom it will not be told who has sent a datagram that waits; empty where there is nobody.
[[nodiscard]] std::string sender_problem(const File& file, const RestartOptions& options);

// Why it cannot have its name; empty when it can.
[[nodiscard]] std::string connection_problem(const Context& context, const File& file,
                                             const RestartOptions& options, int& code);

// Why a raw or ping socket cannot be made; empty when it can, and for others.  `code`: the errno value that
// goes with it.
[[nodiscard]] std::string raw_problem(const Context& context, const File& file, int& code);

// An address as a context has it, for a system call.
[[nodiscard]] inline const sockaddr* raw(const Bytes& bytes) {
  return reinterpret_cast<const sockaddr*>(bytes.data());
}

}  // namespace cryo
