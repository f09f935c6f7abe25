// SPDX-License-Identifier: GPL-2.0-only
// Messages that wait in the queues of Unix sockets.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "base/error.h"
#include "restart/net/sockets.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

// Ancillary data of one message.
class Control {
 public:
  // `named`: it goes where a name leads, and so in the name of who has that.
  Control(const SocketMessage& message, const FileLookup& lookup, bool named = false) : named_(named) {
    if (!message.files.empty()) add_files(message, lookup);
    if (message.head.flags & CRYO_SOCK_MESSAGE_CREDS) {
      const ucred saved{message.head.pid, message.head.uid, message.head.gid};
      credentials_ = add(SCM_CREDENTIALS, &saved, sizeof(saved));
    } else if (named && names::owner() != ::getuid()) {
      const ucred theirs{::getpid(), names::owner(), ::getegid()};
      credentials_ = add(SCM_CREDENTIALS, &theirs, sizeof(theirs));
    }
  }

  void put_into(msghdr& header) {
    header.msg_control = bytes_.empty() ? nullptr : bytes_.data();
    header.msg_controllen = bytes_.size();
  }

  // The kernel lets nobody but root speak for another process.
  [[nodiscard]] bool named() const { return named_; }
  [[nodiscard]] bool weaken() {
    if (credentials_ == kNone || weak_ == 2) return false;
    ucred now;
    std::memcpy(&now, &bytes_[credentials_], sizeof(now));
    now.pid = ::getpid();
    if (++weak_ == 2) {
      now.uid = ::geteuid();
      now.gid = ::getegid();
    }
    std::memcpy(&bytes_[credentials_], &now, sizeof(now));
    return true;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  void add_files(const SocketMessage& message, const FileLookup& lookup) {
    std::vector<int> fds;
    for (const std::uint32_t id : message.files) fds.push_back(lookup(id));
    (void)add(SCM_RIGHTS, fds.data(), fds.size() * sizeof(int));
  }

  // Returns where the data are.
  std::size_t add(int type, const void* data, std::size_t size) {
    const std::size_t start = bytes_.size();
    bytes_.resize(start + CMSG_SPACE(size));
    cmsghdr head{};
    head.cmsg_level = SOL_SOCKET;
    head.cmsg_type = type;
    head.cmsg_len = CMSG_LEN(size);
    std::memcpy(&bytes_[start], &head, sizeof(head));
    std::memcpy(&bytes_[start + CMSG_LEN(0)], data, size);
    return start + CMSG_LEN(0);
  }

  bool named_;
  std::vector<char> bytes_;
  std::size_t credentials_ = kNone;
  int weak_ = 0;
};

ssize_t send(int fd, msghdr& header, Control& control) {
  constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
  control.put_into(header);
  const auto try_it = [&] {
    return control.named() ? names::sendmsg(fd, header, kFlags) : ::sendmsg(fd, &header, kFlags);
  };
  ssize_t sent = try_it();
  while (sent < 0 && (errno == EPERM || errno == ESRCH) && control.weaken()) sent = try_it();
  return sent;
}

[[noreturn]] void failed(std::size_t bytes) {
  if (errno == EAGAIN || errno == ENOBUFS)
    fail(ENOBUFS,
         "cannot put {} bytes back into the queue of a socket: more than /proc/sys/net/core/wmem_max allows",
         bytes);
  fail_errno("cannot put {} bytes back into the queue of a socket", bytes);
}

// Parts of a stream that read() may join again.
bool can_join(const SocketMessage& a, const SocketMessage& b) {
  return a.files.empty() && b.files.empty() && a.head.flags == b.head.flags && a.head.pid == b.head.pid &&
         a.head.uid == b.head.uid && a.head.gid == b.head.gid;
}

void send_stream(int fd, const SocketMessage& first, const Bytes& data, const FileLookup& lookup) {
  SocketMessage message;  // without files when they have gone
  message.head = first.head;
  message.files = first.files;
  for (std::size_t done = 0; done < data.size();) {
    Control control(message, lookup);
    iovec vector{const_cast<std::byte*>(data.data()) + done, data.size() - done};
    msghdr header{};
    header.msg_iov = &vector;
    header.msg_iovlen = 1;
    const ssize_t sent = send(fd, header, control);
    if (sent <= 0) failed(data.size() - done);
    done += static_cast<std::size_t>(sent);
    message.files.clear();
  }
}

}  // namespace

void send_datagram(int from, const SocketMessage& message, const Bytes& to, const FileLookup& lookup) {
  Control control(message, lookup, !to.empty());
  iovec vector{const_cast<std::byte*>(message.data.data()), message.data.size()};
  msghdr header{};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  if (!to.empty()) {
    header.msg_name = const_cast<std::byte*>(to.data());
    header.msg_namelen = static_cast<socklen_t>(to.size());
  }
  if (send(from, header, control) != static_cast<ssize_t>(message.data.size())) failed(message.data.size());
}

void send_messages(int from, int type, const std::vector<SocketMessage>& messages, const FileLookup& lookup) {
  if (messages.empty()) return;
  raise_send_buffer(from);
  for (std::size_t i = 0; i < messages.size();) {
    const SocketMessage& first = messages[i++];
    if (type != SOCK_STREAM) {
      send_datagram(from, first, {}, lookup);
      continue;
    }
    Bytes data = first.data;
    for (; i < messages.size() && can_join(first, messages[i]); ++i)
      data.insert(data.end(), messages[i].data.begin(), messages[i].data.end());
    send_stream(from, first, data, lookup);
  }
}

}  // namespace cryo
